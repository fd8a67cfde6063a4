// Package kubernetes is the flag that chooses the Kubernetes release of a sandbox, and the commands that list, build and remove
// Kubernetes programs.
//
//	var f kubernetes.Flags
//	f.Bind(cmd)
//	err := f.Check(cluster)
//	program, err := f.Resolve(ctx, streams)
//
// Floor 5.
package kubernetes
