// Package junit writes results as JUnit XML, in the form that Jenkins, GitLab, GitHub's actions and TestGrid read: a
// testsuite for each theme, a testcase for each scenario.
//
// Floor 4.
package junit
