// Package lab is an environment for tests of cloud controller managers: simulated vCenters, a real control plane,
// kubelets that are Node objects and heartbeats, and a CCM as a child process, ours or another project's.
//
//	l := lab.Start(t, lab.Options{Topology: "testdata/zones.yaml"})
//	l.Kubelets.Register(l.Machines()...)
//	ccm := l.StartCCM(lab.CCMOptions{}) // ours, as the account that its manifest gives it
//	l.Await("every node is initialized", time.Minute, l.Initialized)
//
//	mark := l.Mark()
//	err := l.Machine("w-1").PowerOff(t.Context())
//	…
//	err = l.Kubelets.Fail(t.Context(), "w-1") // not to wait for the node monitor's verdict
//	…
//	l.Await("w-1 has the shutdown taint", time.Minute, func(nodes lab.NodeSet) string {
//		return nodes.Lacks("w-1", lab.ShutdownTaint)
//	})
//	err = ccm.Restart()
//	for _, c := range mark.Calls(lab.By("vsphere-cloud-provider")) { … }
//	for _, s := range l.Nodes.Now().Snapshots() { … }
//
// An upstream release is used by path, with the same cloud config:
//
//	l.StartCCM(lab.CCMOptions{Path: release, Admin: true, Inline: true})
//
// Everything ends with the test. The lab itself bypasses the vCenters' gates with a separate account: its calls are not
// counted, outages do not affect it, and it stays logged in when other sessions are terminated. It works with thousands
// of nodes.
//
// The control plane is that of the built program: $VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox ("make build").
//
// Floor 5: for the tests beside it.
package lab
