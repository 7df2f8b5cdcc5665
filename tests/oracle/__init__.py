"""A second opinion on every answer, by direct check of the definitions.

Small, slow and written from the definitions of the semantics alone: no grounder,
no solver, no translation between semantics and no floating point. It answers
*propositional* programs of a few atoms by looking at every interpretation.

    programs   what a propositional program is; its text, and reading that text
    models     Γ(θ): stable, partial, lstable, smproblog and wellfounded models
    answers    the credal and the maxent answer from the models of every total choice
    generate   random programs
"""
