// Package sim runs simulated vCenters: it builds each vCenter of a topology into a vcsim service of its own, corrects
// what vcsim tells differently from a vCenter, and serves it through a gate with TLS and a password.
//
//	s, err := sim.New(ctx, sim.Options{Topology: t, Events: log})
//	if err != nil { … }
//	defer s.Close(ctx)
//	for _, v := range s.VCenters() {
//		fmt.Println(v.Name(), v.URL(), v.User())
//	}
//
// In a test one line does it, clean-up included:
//
//	lab := sim.Start(t, "testdata/zones.yaml")
//	client := lab.Client("vc-us") // a govmomi.Client, logged in
//
// All that is known of govmomi/simulator is in here and below: the rest of the sandbox, and every client, speaks the
// vSphere API. Nothing is shared between the vCenters of a process, neither state nor settings.
//
// The parts, each a package: gate (HTTPS front: outages, call counts), inventory (topology → objects), property (the
// PropertyCollector), guest (what VMware Tools report), cns (volumes), truth (other corrections).
//
// It does not know Kubernetes, and it does not decide what breaks when: that is the callers' business.
//
// Floor 2: it imports pkg/topology, pkg/event and internal/cert.
package sim
