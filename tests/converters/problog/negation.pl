%% plain negation
0.3::rain.
dry :- \+ rain.
query(dry).
%% negation in the old words
0.3::rain.
dry :- not rain.
also_dry :- not(rain).
query(dry).
query(also_dry).
%% a negated conjunction
0.3::a. 0.6::b.
c :- \+ (a, b).
query(c).
%% a negated disjunction
0.3::a. 0.6::b.
neither :- \+ (a ; b).
query(neither).
%% nobody at all
0.5::here(ann). 0.25::here(bob).
empty :- \+ here(_).
query(empty).
%% nobody there for a place
place(p). place(q).
0.5::at(ann,p). 0.25::at(bob,p). 0.1::at(ann,q).
empty(P) :- place(P), \+ at(X,P).
query(empty(_)).
%% a negated variable that comes again later
d(1). d(2).
0.5::h(1,1). 0.5::h(1,2).
q(X) :- d(X), \+ h(X,Y), d(Y).
query(q(1)).
query(q(2)).
%% negation twice
0.3::a.
b :- \+ \+ a.
query(b).
%% for all
0.5::passed(ann). 0.6::passed(bob).
student(ann). student(bob).
everybody :- forall(student(X), passed(X)).
query(everybody).
%% for all of a group
member_of(ann,g). member_of(bob,g). member_of(bob,h).
group(g). group(h).
0.5::passed(ann). 0.6::passed(bob).
good(G) :- group(G), forall(member_of(X,G), passed(X)).
query(good(_)).
%% layers of negation
0.4::a. 0.5::b.
c :- a, \+ b.
d :- \+ c.
e :- d, \+ a.
query(c). query(d). query(e).
%% a game on a graph without cycles
0.8::move(1,2). 0.5::move(2,3). 0.6::move(1,3). 0.3::move(3,4).
win(X) :- move(X,Y), \+ win(Y).
query(win(1)).
query(win(2)).
%% inhibition
0.5::flu. 0.2::vaccinated.
0.9::fever :- flu, \+ vaccinated.
0.1::fever :- flu, vaccinated.
query(fever).
query(flu).
evidence(fever).
%% negation of a comparison
n(1). n(2). n(3).
0.5::pick(X) :- n(X), \+ X > 2.
query(pick(_)).
%% not the same as
0.2::likes(a,b). 0.4::likes(a,a). 0.6::likes(b,a).
other(X) :- likes(X,Y), \+ X = Y.
query(other(_)).
%% two negations with variables of their own
place(p). place(q).
0.5::at(ann,p). 0.25::at(bob,q). 0.3::near(ann,p). 0.4::near(bob,p).
empty(P) :- place(P), \+ at(X,P), \+ near(X,P).
query(empty(_)).
