// Package get is the commands that list what is in a sandbox, one file per kind of thing, and print its kubeconfig.
package get
