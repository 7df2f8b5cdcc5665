%% the alarm
0.1::burglary.
0.2::earthquake.
0.7::hears_alarm(X) :- person(X).
person(john).
person(mary).
alarm :- burglary.
alarm :- earthquake.
calls(X) :- alarm, hears_alarm(X).
evidence(calls(john),true).
evidence(calls(mary),true).
query(burglary).
query(earthquake).
%% what did not happen
0.3::a. 0.4::b.
c :- a.
c :- b.
evidence(c,false).
query(a).
%% evidence that is negated
0.3::a. 0.4::b.
c :- a.
c :- b.
evidence(c).
evidence(\+a).
query(b).
%% a negative query
0.3::a. 0.5::b.
query(\+a).
evidence(b,true).
%% sprinkler
0.5::cloudy.
0.1::sprinkler :- cloudy.
0.5::sprinkler :- \+ cloudy.
0.8::rain :- cloudy.
0.2::rain :- \+ cloudy.
0.9::wet :- sprinkler, \+ rain.
0.9::wet :- rain, \+ sprinkler.
0.99::wet :- sprinkler, rain.
evidence(wet,true).
query(sprinkler).
query(rain).
%% explaining away
0.5::cloudy.
0.1::sprinkler :- cloudy.
0.5::sprinkler :- \+ cloudy.
0.8::rain :- cloudy.
0.2::rain :- \+ cloudy.
0.9::wet :- sprinkler, \+ rain.
0.9::wet :- rain, \+ sprinkler.
0.99::wet :- sprinkler, rain.
evidence(wet,true). evidence(rain,true).
query(sprinkler).
%% a test for an illness
0.01::ill.
0.95::positive :- ill.
0.05::positive :- \+ ill.
evidence(positive).
query(ill).
%% two tests
0.01::ill.
0.95::positive(T) :- ill, test(T).
0.05::positive(T) :- \+ ill, test(T).
test(1). test(2).
evidence(positive(1)). evidence(positive(2)).
query(ill).
%% evidence on a value of a disjunction
0.2::c(r); 0.3::c(g); 0.5::c(b).
0.9::seen :- c(r).
0.1::seen :- c(g).
evidence(seen).
query(c(_)).
%% queries with a body
0.5::p(X) :- n(X).
n(1). n(2). n(3).
query(p(X)) :- n(X), X > 1.
%% queries for members of a list
:- use_module(library(lists)).
0.5::p(1). 0.4::p(2). 0.3::p(3).
query(p(X)) :- member(X,[1,3]).
%% impossible evidence (refused by both)
0.5::a.
b :- a, \+ a.
evidence(b).
query(a).
%% a student network
0.6::easy.
0.7::smart.
0.9::grade(a); 0.1::grade(b) :- easy, smart.
0.5::grade(a); 0.5::grade(b) :- easy, \+ smart.
0.6::grade(a); 0.4::grade(b) :- \+ easy, smart.
0.1::grade(a); 0.9::grade(b) :- \+ easy, \+ smart.
0.8::letter :- grade(a).
0.1::letter :- grade(b).
evidence(letter).
query(smart).
query(easy).
