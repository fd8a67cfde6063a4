// Package children is the hidden commands as which this binary runs its own parts: "light-nodes", "builtin-ccm",
// "csi-controller" and "guest-files". People don't type them; the sandbox starts them and watches over them, and their output is their log.
//
// The control plane and kubelets are another program: the module kubernetes/.
package children
