// Package sim runs simulated vCenters. It builds each vCenter of a topology into a separate vcsim service, corrects the
// differences between vcsim and a vCenter, and serves it through a gate with TLS and a password.
//
//	s, err := sim.New(ctx, sim.Options{Topology: t, Events: log})
//	if err != nil { … }
//	defer s.Close(ctx)
//	for _, v := range s.VCenters() {
//		fmt.Println(v.Name(), v.URL(), v.User())
//	}
//
// In a test one line does it, including the cleanup:
//
//	lab := sim.Start(t, "testdata/zones.yaml")
//	client := lab.Client("vc-us") // a govmomi.Client, logged in
//
// Only this package and those below it use govmomi/simulator: the rest of the sandbox, and every client, uses the vSphere
// API. The vCenters of a process share neither state nor settings.
//
// The parts are packages: gate (HTTPS front: outages, call counts), inventory (topology → objects), property (the
// PropertyCollector), guest (reports of VMware Tools), host (hosts and datastores), cns (volumes), rest (sessions and
// tags), access (accounts and permissions), react (HA, DRS, DHCP), corrections (everything else). Package fault breaks them.
//
// The package does not know Kubernetes, and it injects no faults unless it is called to.
//
// Floor 2: it imports pkg/topology, pkg/event and internal/cert.
package sim
