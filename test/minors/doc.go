// Package minors boots sandboxes of the Kubernetes releases beside the default one, and nodes whose kubelet is older than the API
// server. Without [Env] it uses the programs that are in the user's cache, and skips the others.
package minors

// Env makes the tests build programs that are not in the cache.
const Env = "VSPHERE_SANDBOX_FETCH"
