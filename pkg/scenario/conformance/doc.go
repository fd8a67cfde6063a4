// Package conformance runs Kubernetes' own end-to-end tests, the program e2e.test of a release, against a cluster.
//
//	specs, err := conformance.List(ctx, program, dir)
//	plan, err := conformance.Choose(specs, conformance.Choice{Suite: "quick", Containers: false})
//	suite, err := conformance.Run(ctx, plan, conformance.Options{Program: program, Kubeconfig: path, Dir: dir})
//
// What a cluster without containers cannot run is in skips.yaml, each with its reason.
//
// Floor 4. It starts e2e.test only.
package conformance
