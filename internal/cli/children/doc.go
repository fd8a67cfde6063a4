// Package children is the hidden commands as which this binary runs its own parts: "control-plane" and "node" (and
// "builtin-ccm", which is the cloud controller manager's own command line). People don't type them; the sandbox starts them and
// watches over them, and their output is their log.
//
// It links k8s.io/kubernetes, and nothing but the root command imports it.
package children
