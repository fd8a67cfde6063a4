// Package migrate is the commands that lead a cluster from the vSphere provider that was part of Kubernetes to the one that
// is not. What they do is in internal/migrate; here are their flags and what they print.
//
// Floor 5.
package migrate
