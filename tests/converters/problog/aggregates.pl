%% how many heads (refused)
0.5::heads(C) :- coin(C).
coin(1). coin(2). coin(3).
tosses(N) :- findall(C, heads(C), L), length(L, N).
query(tosses(_)).
%% the sum of what is chosen (refused)
:- use_module(library(lists)).
0.5::item(1). 0.4::item(2). 0.3::item(4).
total(T) :- findall(X, item(X), L), sum_list(L, T).
query(total(_)).
%% the largest (refused)
:- use_module(library(lists)).
0.5::n(1). 0.2::n(5). 0.4::n(3).
top(M) :- findall(X, n(X), L), max_list(L, M).
low(M) :- findall(X, n(X), L), min_list(L, M).
query(top(_)). query(low(_)).
%% duplicates count (refused)
0.5::a(1,x). 0.5::a(1,y).
n(N) :- findall(X, a(X,Y), L), length(L, N).
query(n(_)).
%% for each of a group (refused)
0.5::e(a,1). 0.5::e(a,2). 0.5::e(b,1).
node(a). node(b).
degree(X,N) :- node(X), findall(Y, e(X,Y), L), length(L,N).
query(degree(_,_)).
%% at least two (refused)
0.3::vote(1). 0.6::vote(2). 0.7::vote(3).
majority :- findall(X, vote(X), L), length(L,N), N >= 2.
query(majority).
%% exactly one (refused)
0.3::vote(1). 0.6::vote(2). 0.7::vote(3).
single :- findall(X, vote(X), L), length(L,1).
query(single).
%% a conjunction inside (refused)
0.5::p(1). 0.5::p(2). 0.5::q(2). 0.5::q(3).
n(N) :- findall(X, (p(X), q(X)), L), length(L,N).
query(n(_)).
%% a disjunction inside (refused)
0.5::p(1). 0.5::q(1).
n(N) :- findall(X, (p(X) ; q(X)), L), length(L,N).
query(n(_)).
%% nothing found (refused)
0.5::p(1). 0.5::p(2).
none :- findall(X, p(X), L), L = [].
query(none).
%% library(aggregate) (refused)
:- use_module(library(aggregate)).
0.4::p(1,a). 0.6::p(2,a). 0.3::p(2,b).
total(Y, sum<X>) :- p(X,Y).
best(max<X>) :- p(X,Y).
query(total(_,_)).
query(best(_)).
%% a list that is used as a list (refused)
0.5::p(1).
q(L) :- findall(X, p(X), L).
query(q(_)).
