%% the items of a list (refused)
:- use_module(library(lists)).
0.3::on(1). 0.4::on(2).
names([1,2,3]).
lit(X) :- names(L), member(X, L), on(X).
dark :- names(L), member(X, L), memberchk(X, [2,4]), \+ on(X).
query(lit(_)). query(dark).
%% lists that are built, in several directions (refused)
:- use_module(library(lists)).
0.5::front([a,b]). 0.5::front([]).
whole(L) :- front(F), append(F, [c], L).
parts(X, Y) :- front(F), append(X, Y, F).
begins(X) :- whole([X|_]).
ends(X) :- whole(L), last(L, X).
query(whole(_)). query(parts(_,_)). query(begins(_)). query(ends(_)).
%% numbers of lists (refused)
:- use_module(library(lists)).
0.6::scores([3,1,2]). 0.4::scores([5]).
n(N) :- scores(L), length(L, N).
total(S) :- scores(L), sum_list(L, S).
best(M) :- scores(L), max_list(L, M).
worst(M) :- scores(L), min_list(L, M).
at(I, X) :- scores(L), nth0(I, L, X).
second(X) :- scores(L), nth1(2, L, X).
query(n(_)). query(total(_)). query(best(_)). query(worst(_)). query(at(_,_)). query(second(_)).
%% lists that are turned around and taken apart (refused)
:- use_module(library(lists)).
0.5::hand([a,b,c]).
turned(R) :- hand(L), reverse(L, R).
taken(X, R) :- hand(L), select(X, L, R).
order(P) :- hand(L), permutation(L, P).
query(turned(_)). query(taken(_,_)). query(order(_)).
%% sets as lists (refused)
:- use_module(library(lists)).
0.5::have([a,b,d]). 0.5::have([c]).
missing(M) :- have(H), subtract([a,b,c], H, M).
common(C) :- have(H), intersection(H, [c,d], C).
all(U) :- have(H), union(H, [a], U).
enough :- have(H), subset([a,d], H).
upto(L) :- have(H), length(H, N), numlist(1, N, L).
query(missing(_)). query(common(_)). query(all(_)). query(enough). query(upto(_)).
%% recursion over a list, with chance on the way
0.5::keep(1). 0.6::keep(2). 0.7::keep(3).
kept([], []).
kept([X|T], [X|R]) :- keep(X), kept(T, R).
kept([X|T], R) :- \+ keep(X), kept(T, R).
query(kept([1,2,3], _)).
%% a walk that does not visit a place twice (refused)
:- use_module(library(lists)).
0.5::edge(a,b). 0.5::edge(b,a). 0.5::edge(b,c). 0.5::edge(c,a).
path(X, X, _).
path(X, Y, V) :- edge(X, Z), \+ member(Z, V), path(Z, Y, [Z|V]).
query(path(a, c, [a])).
%% a string that a grammar makes
0.4::rule(N, s, [a]) ; 0.6::rule(N, s, [b]) :- between(1, 3, N).
word(0, []).
word(N, [X|W]) :- N > 0, rule(N, s, [X]), M is N-1, word(M, W).
query(word(3, [a,b,_])).
%% a predicate for each item (refused)
:- use_module(library(apply)).
0.5::good(a). 0.6::good(b). 0.7::less(a,b). 0.8::less(b,c).
both :- maplist(good, [a,b]).
rising :- maplist(less, [a,b], [b,c]).
query(both). query(rising).
%% the program's own append
append([], X, X).
append([H|T], L, [H|R]) :- append(T, L, R).
0.5::l([1]).
q(Z) :- l(X), append(X, [2], Z).
query(q(_)).
%% lists and pairs are different things
p([a|b]). p(a-b). p([a,b]).
0.5::x.
q(T) :- x, p([a|T]).
query(q(_)).
%% the library is not loaded (refused by both)
0.5::a([1]).
q(X) :- a(L), member(X, L).
query(q(_)).
%% an index that has no value (refused by both)
:- use_module(library(lists)).
0.5::l([a,b]).
q(X) :- l(L), nth1(_, L, X).
query(q(_)).
%% a sum of names (refused by both)
:- use_module(library(lists)).
0.5::l([1,a]).
q(S) :- l(L), sum_list(L, S).
query(q(_)).
%% the first of what is found (refused)
:- use_module(library(lists)).
0.5::l([a,b,a]).
q(X) :- l(L), memberchk(X, L).
query(q(_)).
%% a choice beside a list with an open item (refused by both)
0.5::l([a]).
0.5::q(A) :- l(A), C = [Y|A].
query(q(_)).
%% the length of a name (refused by both)
0.5::l([a,b]). 0.5::l(c).
q(N) :- l(L), length(L, N).
query(q(_)).
