// Package smoke tests one release of a cloud controller manager, as its release engineer would: it runs the scenarios of a suite,
// and checks what no scenario does. The program reports its version, takes over a live cluster from the release before, hands
// over to another replica, exits in order, and its calls to the vCenters are compared with the release before. [Compare] runs the
// same suite for several releases.
//
//	report := smoke.Run(ctx, smoke.Options{Program: smoke.Program{Source: "module:v1.36.0"}, Suite: suite, Boot: boot})
//	err := smoke.Table(os.Stdout, report)
//
// Most of it is a scenario (scenarios/smoke); code here is for what the language cannot express. A check that fails and is known
// to fail with that release is reported as such.
//
// Floor 4. How sandboxes are booted and programs are run is the caller's business.
package smoke
