%% findall counts proofs: two clauses (refused)
0.5::f(1). 0.5::g(1).
h(X) :- f(X). h(X) :- g(X).
q(N) :- findall(X, h(X), L), length(L, N).
query(q(_)).
%% findall counts proofs: values that the head leaves out (refused)
:- use_module(library(lists)).
0.5::f(1,a). 0.5::f(1,b).
h(X) :- f(X,_).
q(N) :- findall(X, h(X), L), sum_list(L, N).
query(q(_)).
%% findall counts proofs: a fact twice (refused)
r(a). r(a).
q(N) :- findall(X, r(X), L), length(L, N).
query(q(_)).
%% findall counts proofs: a member twice (refused)
:- use_module(library(lists)).
q(N) :- findall(X, member(X,[a,a]), L), length(L, N).
query(q(_)).
%% several proofs have one maximum (refused)
:- use_module(library(lists)).
0.5::f(1). 0.5::g(1). 0.5::g(2).
h(X) :- f(X). h(X) :- g(X).
q(N) :- findall(X, h(X), L), max_list(L, N).
none :- findall(X, h(X), L), L = [].
query(q(_)). query(none).
%% one proof through several predicates (refused)
0.5::f(1). 0.5::f(2). d(1). d(2).
k(X) :- h(X), d(X). h(X) :- f(X).
e(X) :- f(X). e(X) :- h(X).
q(N) :- findall(X, k(X), L), length(L, N).
r(N) :- findall(X, (d(X), \+ e(X)), L), length(L, N).
query(q(_)). query(r(_)).
%% a cycle through findall (refused by both)
0.5::a.
p :- findall(x, p, L), length(L, N), N > 3.
p :- a.
query(p).
%% call with arguments (refused)
0.5::p(1). 0.4::p(1,2).
q(X) :- call(p, X).
r(X) :- call(p(1), X).
s :- call(\+, p(1)).
t :- call(p, _).
query(q(_)). query(r(_)). query(s). query(t).
%% call of a variable (refused)
0.5::p(1).
q(G) :- call(G).
r :- q(p(1)).
query(r).
%% call of several goals (refused by both)
0.5::p(1).
q(X) :- call((p(X), X > 0)).
query(q(_)).
%% call of a negation with a variable without a value (refused)
0.4::p(1). 0.3::z.
q :- forall(z, \+ p(X)).
query(q).
%% call of a negation of a negation (refused by both)
0.3::z.
q :- call(\+ \+ z).
query(q).
%% not between, not a member
:- use_module(library(lists)).
0.4::n(1). 0.3::n(5). 0.2::n(3).
p(X) :- n(X), \+ between(1, 3, X).
q(X) :- n(X), \+ member(X, [1,5]).
r :- forall(n(X), member(X, [3,5])).
query(p(_)). query(q(_)). query(r).
%% the predicates of a Python file (refused by both)
:- use_module('no_such_library.py').
p :- int_plus(1,2,3).
query(p).
%% a library that there is not (refused by both)
:- use_module(library(no_such_library)).
0.5::p.
query(p).
%% a predicate that nothing defines (refused by both)
0.5::a.
q :- b. q :- a.
query(q).
%% a query for what nothing defines (refused by both)
query(a).
%% evidence of what nothing defines (refused by both)
0.5::a.
evidence(\+b).
query(a).
%% what nothing defines may fail
:- unknown(fail).
0.5::a.
q :- b. q :- a.
query(q). query(b).
%% clauses of clauses (refused)
0.5::a. b :- a.
q :- clause(b, a).
query(q).
%% a library that is not used (refused by both)
q(X) :- member(X, [a,b]).
query(q(_)).
%% library(aggregate) that is not used (refused by both)
0.5::p(1,a).
q(sum<X>) :- p(X,_).
query(q(_)).
%% a predicate of the program with a library's name
member(X, zoo(X)).
0.5::a.
q(X) :- member(X, zoo(a)), a.
query(q(a)).
%% a predicate of the program with a built-in name (refused by both)
between(1, 2, 3).
q(X) :- between(1, 2, X).
query(q(_)).
%% == with an argument that no call gives (refused)
fill(A) :- A == unknown.
q :- fill(_).
query(q).
%% == with an argument that every call gives
fill(A) :- A == unknown.
0.5::a(unknown). 0.4::a(known).
q(X) :- a(X), fill(X).
r :- fill(unknown).
query(q(_)). query(r).
%% == with an argument that some call gives (refused)
fill(A) :- A == unknown.
q :- fill(_).
r :- fill(unknown).
query(q). query(r).
%% == of a variable that is another (refused)
0.4::c(b).
p(A) :- A = B, B == b, c(A).
query(p(_)).
%% a test before a variable has its value (refused)
c(1). c(2).
p(A) :- A \= 1, c(A).
query(p(_)).
%% a difference before a variable has its value (refused)
c(1). c(2).
p(A) :- A \== 1, c(A).
query(p(_)).
%% negation before a variable has its value (refused)
0.4::b(2). c(1).
p(A) :- \+ b(A), c(A).
query(p(_)).
%% negation of an argument that every call gives
0.4::b(2). c(1). c(2).
p(A) :- \+ b(A), c(A).
q(X) :- c(X), p(X).
query(q(_)). query(p(2)).
%% findall before a variable has its value (refused)
0.4::e(1,1). 0.3::e(2,1). node(1). node(2).
n(X,N) :- findall(Y, e(X,Y), L), length(L,N), node(X).
query(n(_,_)).
%% a comparison before a variable has its value (refused by both)
n(1). n(5).
p(N) :- N > 3, n(N).
query(p(_)).
%% arithmetic before a variable has its value (refused by both)
n(1).
p(M) :- M is N+1, n(N).
query(p(_)).
%% memberchk with a value, and without (refused)
:- use_module(library(lists)).
q(X) :- memberchk(X, [a,b]).
query(q(_)).
%% memberchk with a value
:- use_module(library(lists)).
0.3::a(b). 0.4::a(c).
q(X) :- a(X), memberchk(X, [a,b]).
query(q(_)).
%% a loop through negation (refused by both)
0.4::a.
b :- \+ c.
c :- \+ b, a.
query(b).
%% a loop through negation of atoms that are certain (refused by both)
win(X) :- move(X,Y), \+ win(Y).
move(a,b). move(b,a). move(b,c). move(c,d).
query(win(a)).
%% a loop through negation behind what fails (refused by both)
a :- \+ b, c.
b :- \+ a, d.
d :- fail.
0.5::c.
query(a).
%% predicates on a loop, but no atoms
win(X) :- move(X,Y), \+ win(Y).
move(a,b). move(b,c). 0.5::move(c,d).
query(win(a)).
%% predicates on a loop, step by step
alive(0).
alive(T) :- T > 0, S is T-1, alive(S), \+ shot(S).
0.3::fire(0). 0.3::fire(1).
shot(T) :- fire(T), \+ dead(T).
dead(T) :- \+ alive(T).
query(alive(2)).
%% a comparison with what is not a number (refused by both)
n(1). n(a).
p(N) :- n(N), N > 0.
query(p(_)).
%% the largest of what is not a number (refused by both)
:- use_module(library(lists)).
0.5::n(1). 0.5::n(a).
p(M) :- findall(X, n(X), L), max_list(L, M).
query(p(_)).
%% the order of quoted names (refused)
n('Bob'). n(ann).
p(X,Y) :- n(X), n(Y), X @< Y.
query(p(_,_)).
%% the order of plain names, numbers and terms (refused)
n(f(1)). n(g(1,2)). n(a). n(b). n(3). n(abc). n(aB). n(f(0)).
p(X,Y) :- n(X), n(Y), X @< Y.
query(p(_,_)).
%% an exponent below 0 (refused)
n(-1).
q(X) :- n(Y), X is 2 ** Y.
query(q(_)).
%% if-then-else whose test finds a value (refused by both)
0.5::n(1). 0.3::n(5).
q(X,Y) :- (n(X) -> Y = big ; X = 0, Y = small).
query(q(_,_)).
%% aggregate_all (refused by both)
0.5::n(1).
p(M) :- aggregate_all(count, n(_), M).
query(p(_)).
%% a choice with variables of a negation (refused by both)
0.5::p(1). d(1).
0.4::q :- forall(d(X), p(X)).
query(q).
%% a choice with variables of one alternative (refused by both)
0.5::p(1). 0.5::r(2).
0.4::q :- (p(X) ; r(Y)).
query(q).
%% heads that share no argument pass one on (refused)
0.3::f(X).
0.5::c(X,a); 0.5::e(b,X) :- f(X).
query(c(1,a)). query(e(b,1)).
