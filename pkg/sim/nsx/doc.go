// Package nsx is a simulated NSX Manager: the part of NSX-T's Policy API that cloud providers use for load balancers and routes.
//
//	m, err := nsx.Start(listener, nsx.Options{CA: ca, Accounts: []nsx.Account{{User: "admin", Password: password, Role: nsx.EnterpriseAdmin}}})
//	defer m.Close(ctx)
//	err = m.Gate().Set(ctx, gate.Mode{State: gate.Down})
//
// It is a REST API over TLS with basic, session and certificate authentication, before a [tree.Tree]. Before both stands a
// [gate.Gate], the same as before a vCenter: what breaks a vCenter's API breaks this one.
//
// It is no data plane: virtual servers listen nowhere, monitors send no probes.
//
// Floor 2, inside pkg/sim.
package nsx
