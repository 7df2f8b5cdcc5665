%% quoted names
0.3::'Is big'('New York').
0.4::'Is big'(paris).
big(X) :- 'Is big'(X).
query(big(_)).
%% capital names in quotes
0.3::likes('Anna','Bob').
0.5::likes('Bob','Anna').
friends(X,Y) :- likes(X,Y), likes(Y,X).
query(friends(_,_)).
%% block comments
/* a comment
   on two lines */
0.3::a.  /* and one here */ 0.4::b.
c :- a, /* inside */ b.
query(c).
%% a comment that looks like a block
%*** a line of stars
0.3::a.
query(a).
%% several clauses on a line
0.3::a. 0.4::b. c :- a. c :- b. query(c).
%% a clause on several lines
0.3::a.
0.4::b.
c :-
    a,      % this one
    \+ b.   % but not that one
query(c).
%% or in a body
0.3::a. 0.4::b. 0.5::c.
d :- (a ; b), c.
query(d).
%% or without parentheses
0.3::a. 0.4::b. 0.5::c.
d :- a, b ; c.
query(d).
%% a pair as a term
0.3::edge(a-b). 0.4::edge(b-c).
from(X) :- edge(X-_).
query(from(_)).
%% variables that begin with an underscore
0.3::p(1,2). 0.4::p(2,2).
q(_x) :- p(_x,_Y), _Y > 1.
query(q(_)).
%% true and fail
0.3::a :- true.
b :- fail.
c :- a, true.
d :- a ; fail.
query(a). query(b). query(c). query(d).
%% call and once
0.5::a.
b :- call(a).
c :- once(a).
query(b). query(c).
%% a probability that is a certainty
1::a.
0.5::b :- a.
query(b).
%% a cut (refused by both)
0.5::a.
b :- a, !.
query(b).
%% a list in a fact
0.5::route([a,b,c]).
query(route(_)).
%% a program that prints (refused)
0.5::a.
b :- a, writeln(hello).
query(b).
%% a term taken apart (refused)
0.5::p(f(1)).
q(N) :- p(X), functor(X,N,_).
query(q(_)).
