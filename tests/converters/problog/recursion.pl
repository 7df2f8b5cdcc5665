%% a path in a graph with cycles
0.6::edge(1,2). 0.1::edge(1,3). 0.4::edge(2,5). 0.3::edge(2,6).
0.3::edge(3,4). 0.8::edge(4,5). 0.2::edge(5,6). 0.5::edge(6,1).
path(X,Y) :- edge(X,Y).
path(X,Y) :- edge(X,Z), path(Z,Y).
query(path(1,5)).
query(path(1,6)).
%% left recursion
0.3::e(1,2). 0.5::e(2,1). 0.4::e(2,3).
p(X,Y) :- e(X,Y).
p(X,Y) :- p(X,Z), e(Z,Y).
query(p(1,_)).
%% smokers
0.3::stress(X) :- person(X).
0.2::influences(X,Y) :- person(X), person(Y).
smokes(X) :- stress(X).
smokes(X) :- friend(X,Y), influences(Y,X), smokes(Y).
0.4::asthma(X) :- smokes(X).
person(1). person(2). person(3). person(4).
friend(1,2). friend(2,1). friend(2,4). friend(3,2). friend(4,2).
evidence(smokes(2),true).
evidence(influences(4,2),false).
query(smokes(1)).
query(smokes(3)).
query(asthma(4)).
%% from a node to itself
node(a). node(b). node(c).
0.5::edge(a,b). 0.4::edge(b,c).
reach(X,X).
reach(X,Y) :- edge(X,Z), reach(Z,Y).
query(reach(a,c)).
query(reach(a,a)).
%% even and odd
even(0).
even(N) :- N > 0, M is N-1, odd(M).
odd(N) :- N > 0, M is N-1, even(M).
0.3::a :- even(6).
0.4::b :- odd(6).
query(a).
query(b).
%% counting down
0.9::step(N).
down(0).
down(N) :- N > 0, step(N), M is N-1, down(M).
query(down(3)).
%% factorial
fact(0,1).
fact(N,F) :- N > 0, M is N-1, fact(M,G), F is N*G.
query(fact(5,_)).
%% Peano's numbers
nat(0).
nat(s(X)) :- nat(X).
0.2::a :- nat(s(s(s(0)))).
query(a).
%% the length of a path in an acyclic graph
0.5::e(a,b). 0.6::e(b,c). 0.7::e(a,c).
len(X,Y,1) :- e(X,Y).
len(X,Y,N) :- e(X,Z), len(Z,Y,M), N is M+1.
query(len(a,c,_)).
%% a random walk on a line
0.5::right(T); 0.5::left(T) :- time(T).
time(0). time(1). time(2).
at(0,0).
at(T,X) :- T > 0, S is T-1, at(S,Y), right(S), X is Y+1.
at(T,X) :- T > 0, S is T-1, at(S,Y), left(S), X is Y-1.
query(at(3,1)).
query(at(2,0)).
%% tabling and libraries are not needed
:- table path/2.
:- use_module(library(lists)).
0.5::edge(a,b). 0.5::edge(b,a).
path(X,Y) :- edge(X,Y).
path(X,Y) :- path(X,Z), path(Z,Y).
query(path(a,a)).
%% ancestors
parent(a,b). parent(b,c). parent(c,d).
0.9::alive(a). 0.8::alive(b). 0.7::alive(c).
ancestor(X,Y) :- parent(X,Y).
ancestor(X,Y) :- parent(X,Z), ancestor(Z,Y).
living(Y,X) :- ancestor(X,Y), alive(X).
query(living(d,_)).
%% an epidemic
0.1::start(P) :- person(P).
0.4::contact(X,Y) :- near(X,Y).
sick(P) :- start(P).
sick(P) :- sick(Q), contact(Q,P).
person(a). person(b). person(c).
near(a,b). near(b,c). near(c,a).
evidence(sick(c)).
query(start(a)).
%% mutual recursion of probabilities
0.4::a1. 0.5::b1.
0.6::a :- b.
0.7::b :- a.
a :- a1.
b :- b1.
query(a).
query(b).
%% counting up without end (refused)
n(0).
n(N) :- n(M), N is M+1.
0.5::a :- n(3).
%% a binary tree
0.5::left(X). 0.5::right(X).
grows(0).
grows(N) :- N > 0, left(N), M is N-1, grows(M).
grows(N) :- N > 1, right(N), M is N-2, grows(M).
query(grows(4)).
%% a hidden Markov model and its observations in a list
0.6::init(a); 0.4::init(b).
0.7::trans(T,a,a); 0.3::trans(T,a,b).
0.4::trans(T,b,a); 0.6::trans(T,b,b).
0.9::emit(T,a,x); 0.1::emit(T,a,y).
0.2::emit(T,b,x); 0.8::emit(T,b,y).
hmm(Obs) :- init(S), hmm(0,S,Obs).
hmm(_,_,[]).
hmm(T,S,[O|R]) :- emit(T,S,O), trans(T,S,S2), T1 is T+1, hmm(T1,S2,R).
query(hmm([x,y,x])).
%% a walk that remembers where it was (refused)
:- use_module(library(lists)).
0.6::edge(a,b). 0.5::edge(b,a). 0.4::edge(b,c). 0.9::edge(c,a). 0.2::edge(c,d).
reach(X,Y) :- reach(X,Y,[X]).
reach(X,X,_).
reach(X,Y,V) :- edge(X,Z), \+ member(Z,V), reach(Z,Y,[Z|V]).
query(reach(a,d)).
%% a walk whose steps depend on what does not happen
0.8::stay(T).
run(T,S,[S|R]) :- T < 3, next(T,S,S2), T2 is T+1, run(T2,S2,R).
run(3,S,[S]).
next(T,S,S) :- stay(T).
next(T,a,b) :- \+ stay(T).
next(T,b,a) :- \+ stay(T).
query(run(0,a,_)).
