%% sums of dice
1/3::die(D,1); 1/3::die(D,2); 1/3::die(D,3) :- d(D).
d(1). d(2).
sum(S) :- die(1,A), die(2,B), S is A+B.
query(sum(_)).
%% comparisons
n(1). n(2). n(3). n(4).
0.5::p(X) :- n(X).
small(X) :- p(X), X < 3.
atmost(X) :- p(X), X =< 2.
big(X) :- p(X), X >= 3.
other(X) :- p(X), X =\= 2.
same(X) :- p(X), X =:= 1+1.
query(small(_)). query(atmost(_)). query(big(_)). query(other(_)). query(same(_)).
%% between
0.5::c(X) :- between(1,4,X).
some :- c(X), X > 2.
query(some).
query(c(_)).
%% division and remainder
n(X) :- between(0,9,X).
0.5::p(X) :- n(X).
even :- p(X), 0 is X mod 2, X > 6.
half(Y) :- p(X), X >= 8, Y is X // 2.
query(even).
query(half(_)).
%% negative numbers round down
m(X) :- X is -7 // 2.
r(X) :- X is -7 mod 3.
0.4::a :- m(-4).
0.6::b :- r(2).
query(a).
query(b).
%% powers and absolute values
0.5::side(3). 0.5::side(4).
square(S) :- side(X), S is X ** 2.
cube(S) :- side(X), S is X ^ 3.
far(D) :- side(X), D is abs(X - 10).
query(square(_)). query(cube(_)). query(far(_)).
%% the larger of two
0.5::a(3). 0.5::a(5). 0.5::b(4).
best(M) :- a(X), b(Y), M is max(X,Y).
worst(M) :- a(X), b(Y), M is min(X,Y).
query(best(_)). query(worst(_)).
%% identical and different
0.4::p(a). 0.6::p(b).
q(X) :- p(X), X == a.
r(X) :- p(X), X \== a.
s(X) :- p(X), X \= b.
query(q(_)). query(r(_)). query(s(_)).
%% unification
0.4::p(f(a,1)). 0.6::p(f(b,2)).
q(X,Y) :- p(Z), Z = f(X,Y).
query(q(_,_)).
%% a predicate that only compares
n(1). n(2). n(3).
less(X,Y) :- X < Y.
0.5::k(X,Y) :- n(X), n(Y), less(X,Y).
query(k(_,_)).
%% a function as a predicate
0.5::a(1). 0.5::a(2).
double(X,Y) :- Y is 2*X.
b(Y) :- a(X), double(X,Y).
query(b(_)).
%% a threshold on a weight (refused)
w(a,0.2). w(b,0.7). w(c,0.9).
P::on(X) :- w(X,P), P > 0.5.
query(on(_)).
%% parentheses and precedence
v(X) :- X is (1+2)*3 - 4*(5-3).
0.5::a :- v(1).
query(a).
%% the order of terms (refused)
0.5::p(a). 0.5::p(b). 0.5::p(c).
pair(X,Y) :- p(X), p(Y), X @< Y.
query(pair(_,_)).
%% members of a list that is written out
:- use_module(library(lists)).
0.3::c(X) :- member(X,[red,green,blue]).
query(c(_)).
%% a real number in a term (refused)
p(X) :- X is 7/2.
query(p(_)).
%% a real number inside a term
e(0.25).
0.5::q(f(P)) :- e(P).
query(q(_)).
%% integers beside real numbers
0.5::n(-3). 0.4::n(-2). 0.3::n(2). 0.2::n(3).
low(X) :- n(X), X < 2.5.
high(X) :- n(X), X >= -2.5.
mid(X) :- n(X), 1.5 =< X, 2.9 > X.
query(low(_)). query(high(_)). query(mid(_)).
