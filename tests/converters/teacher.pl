%% two coins
0.4::heads1.
0.7::heads2.
twoHeads :- heads1, heads2.
someHeads :- heads1 ; heads2.
query(twoHeads). query(someHeads).
%% the alarm
0.7::burglary.
0.2::earthquake.
0.9::alarm :- burglary, earthquake.
0.8::alarm :- burglary, \+ earthquake.
0.1::alarm :- \+ burglary, earthquake.
person(john). person(mary).
0.8::calls(X) :- alarm, person(X).
0.1::calls(X) :- \+ alarm, person(X).
evidence(calls(john), true). evidence(calls(mary), false).
query(burglary). query(earthquake).
%% a hidden Markov model, from the first state on
0.5::state(0).
0.8::state(T) :- T > 0, P is T-1, state(P).
0.1::umbrella(T) :- state(T).
query(state(3)). query(umbrella(2)).
%% a hidden Markov model with observations
hidden(sun, 0).
0.7::hidden(sun, T) ; 0.3::hidden(rain, T) :- T > 0, P is T-1, hidden(sun, P).
0.4::hidden(sun, T) ; 0.6::hidden(rain, T) :- T > 0, P is T-1, hidden(rain, P).
0.2::wet(T) :- hidden(sun, T).
0.9::wet(T) :- hidden(rain, T).
evidence(wet(1)). evidence(wet(2), false). evidence(wet(3)).
query(hidden(rain, 3)). query(hidden(sun, 1)).
%% a Markov chain in a list
:- use_module(library(lists)).
0.6::next(T, a, b) ; 0.4::next(T, a, a) :- between(0, 9, T).
0.5::next(T, b, a) ; 0.5::next(T, b, b) :- between(0, 9, T).
walk(0, a, [a]).
walk(N, Y, [Y|L]) :- N > 0, M is N-1, walk(M, X, L), next(M, X, Y).
query(walk(2, _, _)).
%% paths in a random graph
0.6::edge(1,2). 0.1::edge(1,3). 0.4::edge(2,5). 0.3::edge(2,6). 0.3::edge(3,4). 0.8::edge(4,5). 0.2::edge(5,6).
path(X,Y) :- edge(X,Y).
path(X,Y) :- edge(X,Z), path(Z,Y).
query(path(1,5)). query(path(1,6)).
%% paths that are remembered
:- use_module(library(lists)).
0.5::edge(a,b). 0.5::edge(b,c). 0.5::edge(a,c). 0.5::edge(c,a).
path(X,Y,[X,Y]) :- edge(X,Y).
path(X,Y,[X|P]) :- edge(X,Z), Z \== Y, path(Z,Y,P), \+ member(X,P).
short(X,Y) :- path(X,Y,P), length(P,L), L =< 2.
query(path(a,c,_)). query(short(a,c)).
%% smokers
person(ann). person(bob). person(carl).
friend(ann,bob). friend(bob,carl). friend(carl,ann).
0.3::stress(X) :- person(X).
0.2::influences(X,Y) :- friend(Y,X).
smokes(X) :- stress(X).
smokes(X) :- friend(X,Y), influences(Y,X), smokes(Y).
0.4::asthma(X) :- smokes(X).
evidence(smokes(bob)).
query(smokes(_)). query(asthma(ann)).
%% the sum of two dice
1/6::die(D,1); 1/6::die(D,2); 1/6::die(D,3); 1/6::die(D,4); 1/6::die(D,5); 1/6::die(D,6) :- dice(D).
dice(1). dice(2).
sum(S) :- die(1,X), die(2,Y), S is X+Y.
query(sum(7)). query(sum(12)).
%% the sum of a list
:- use_module(library(lists)).
0.5::weight(1,3). 0.4::weight(2,5). 0.3::weight(3,7).
total(S) :- findall(W, weight(_,W), L), sum_list(L,S).
heavy :- total(S), S > 8.
query(heavy). query(total(_)).
%% a knapsack
:- use_module(library(lists)).
0.5::pack(skis) ; 0.5::pack(none).
0.4::pack(boots). 0.3::pack(helmet).
weight(skis,6). weight(boots,4). weight(helmet,3).
excess(Limit) :- findall(W, (pack(I), weight(I,W)), L), sum_list(L,S), S > Limit.
query(excess(8)).
%% how many heads
0.5::heads(C) :- coin(C).
coin(c1). coin(c2). coin(c3).
count(N) :- findall(C, heads(C), L), length(L,N).
query(count(_)).
%% all coins show heads
0.5::heads(1). 0.6::heads(2). coin(1). coin(2).
all_heads :- forall(coin(C), heads(C)).
query(all_heads).
%% a member of a list of constants
:- use_module(library(lists)).
0.3::colour(ball, red) ; 0.7::colour(ball, blue).
warm(X) :- colour(X,C), member(C, [red, orange]).
query(warm(ball)).
%% members one by one
:- use_module(library(lists)).
items([apple, pear, plum]).
0.5::likes(X) :- items(L), member(X, L).
query(likes(X)).
%% append
:- use_module(library(lists)).
0.4::first([1,2]) ; 0.6::first([3]).
both(L) :- first(F), append(F, [9], L).
query(both(_)).
%% reverse, written by hand
0.5::word([a,b,c]) ; 0.5::word([a,b,a]).
rev([], A, A).
rev([H|T], A, R) :- rev(T, [H|A], R).
palindrome :- word(W), rev(W, [], W).
query(palindrome).
%% the length of a list, written by hand
0.2::list([a]) ; 0.8::list([a,b,c]).
len([], 0).
len([_|T], N) :- len(T, M), N is M+1.
size(N) :- list(L), len(L,N).
query(size(_)).
%% the nth element
:- use_module(library(lists)).
letters([x,y,z]).
1/3::pos(0); 1/3::pos(1); 1/3::pos(2).
chosen(E) :- pos(I), letters(L), nth0(I, L, E).
query(chosen(_)).
%% the largest
:- use_module(library(lists)).
0.5::score(ann,3). 0.5::score(bob,5). score(carl,1).
best(M) :- findall(S, score(_,S), L), max_list(L,M).
query(best(_)).
%% sorted by random weights
0.5::bigger(a,b) ; 0.5::bigger(b,a).
sorted(X,Y,[X,Y]) :- bigger(Y,X).
sorted(X,Y,[Y,X]) :- bigger(X,Y).
query(sorted(a,b,_)).
%% a grammar
0.6::choose(N, t) ; 0.4::choose(N, nt).
s(N, [a], M) :- choose(N, t), M is N+1.
s(N, [b|R], M) :- N < 3, choose(N, nt), K is N+1, s(K, R, M).
query(s(0, _, _)).
%% parsing
word(1, the). word(2, dog). word(3, barks).
0.9::np(I,J) :- word(I, the), J is I+2, K is I+1, word(K, dog).
0.7::vp(I,J) :- word(I, barks), J is I+1.
s :- np(1,J), vp(J,4).
query(s).
%% counting down with a real number
0.5::go(N) :- N > 0.
level(N, V) :- N > 0, go(N), V is N * 0.5.
query(level(1,_)). query(level(3,_)).
%% probabilities that are computed
row(1, 20). row(2, 50). row(3, 80).
P::rain(D) :- row(D, C), P is C / 100.
dry :- \+ rain(1), \+ rain(2), \+ rain(3).
query(rain(2)). query(dry).
%% between
0.1::fails(X) :- between(1, 4, X).
ok :- \+ broken.
broken :- fails(_).
query(ok).
%% if, then, else with two rules
0.3::rain.
take(umbrella) :- rain.
take(hat) :- \+ rain.
query(take(X)).
%% different ones
0.5::in(a). 0.5::in(b). 0.5::in(c).
two :- in(X), in(Y), X \= Y.
query(two).
%% call of a predicate that is a value
0.4::even(2). 0.9::odd(3).
kind(even). kind(odd).
holds(N) :- kind(K), call(K, N).
query(holds(_)).
%% map over a list
:- use_module(library(apply)).
0.5::good(a). 0.6::good(b).
all_good :- maplist(good, [a,b]).
query(all_good).
%% a die that is rolled until it is six
0.1666::six(N).
first(N) :- first_from(1, N).
first_from(N, N) :- six(N).
first_from(K, N) :- K < 4, \+ six(K), L is K+1, first_from(L, N).
query(first(2)). query(first(4)).
%% Monty Hall
1/3::prize(1) ; 1/3::prize(2) ; 1/3::prize(3).
select(1).
member(X,[X|_]).
member(X,[_|T]) :- member(X,T).
0.5::open_door(A) ; 0.5::open_door(B) :- member(A,[1,2,3]), member(B,[1,2,3]), A < B, \+ prize(A), \+ prize(B), \+ select(A), \+ select(B).
open_door(A) :- member(A,[1,2,3]), \+ prize(A), \+ select(A), member(B,[1,2,3]), prize(B), \+ select(B), A \= B.
win_keep :- select(A), prize(A).
win_switch :- member(A,[1,2,3]), \+ select(A), prize(A), \+ open_door(A).
query(win_keep). query(win_switch).
%% genes of a family
parent(ann, carl). parent(bob, carl).
0.5::gene(X, a) ; 0.5::gene(X, b) :- founder(X).
founder(ann). founder(bob).
0.5::from(C, P) :- parent(P, C).
gene(C, G) :- parent(P, C), from(C, P), gene(P, G).
evidence(gene(carl, a)).
query(gene(ann, a)).
%% urn without replacement
:- use_module(library(lists)).
0.5::draw1(r) ; 0.5::draw1(b).
left(L) :- draw1(C), select(C, [r,r,b,b], L).
same :- left(L), draw1(C), nth0(0, L, C).
query(left(_)). query(same).
%% a query about negation
0.3::a. b :- \+ a.
query(\+a). query(b).
%% a term that is built and taken apart
0.4::point(p(1,2)). 0.5::point(p(3,4)).
far(X) :- point(P), P = p(X,Y), Y > 3.
query(far(_)).
%% names with spaces, and strings
0.2::likes('Ann', "New York"). 0.7::likes('Bob Smith', "Rome").
happy(X) :- likes(X, _).
query(happy(_)).
%% Peano numbers
0.5::start(s(z)) ; 0.5::start(s(s(z))).
add(z, Y, Y).
add(s(X), Y, s(Z)) :- add(X, Y, Z).
query(sum(_)).
sum(Z) :- start(X), add(X, s(z), Z).
%% a query for each of something
0.1::mutant(X) :- gene(X).
gene(g1). gene(g2).
query(mutant(X)) :- gene(X).
%% the once of a list
:- use_module(library(lists)).
0.5::free(monday). 0.5::free(friday).
meet(D) :- findall(X, free(X), [D|_]).
query(meet(_)).
%% cards from a deck, by weight
:- use_module(library(lists)).
deal(X) :- select_uniform(1, [ace, king, queen, jack], X, _).
court(X) :- deal(X), member(X, [king, queen, jack]).
query(court(_)).
