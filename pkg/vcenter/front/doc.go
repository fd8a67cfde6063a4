// Package front is the HTTPS front of one existing vCenter: a gate, as simulated vCenters have it, before a proxy to the vCenter.
// It makes the API slow, silent, refused or wrong for the clients of the sandbox, and counts their calls, while the vCenter and
// its other clients are not affected.
//
//	f, err := front.New(front.Options{VCenter: v, Listener: l, CA: ca, Guard: g})
//	if err != nil { … }
//	defer f.Close(ctx)
//	err = f.Gate().Set(ctx, gate.Mode{State: gate.Slow, Delay: time.Second})
//
// Clients get a certificate of the sandbox's authority; the vCenter is verified as [vcenter.VCenter] says, by its authority or
// its thumbprint. The front passes what the guard knows: SOAP (vim25, CNS, PBM, VSLM), the Automation API, the lookup service,
// long polls; not files. It sends what the guard has written from what it read. Answers are streamed: it changes only the Domain
// of cookies and the host of redirects.
//
// Addresses inside answers are therefore the vCenter's. Two matter: the lookup service names the token service (STS), and a lease
// for the upload of disks (NFC) names hosts. A client that logs in with a SAML token gets it from the vCenter, past the gate, and
// must trust the vCenter's certificate; the login with the token and everything after it goes through the front. Logins with user
// and password never leave the front.
//
// The guard sees requests first, and refuses unknown ones; see package guard. [Front.DialConsole] is for the sandbox's operator:
// it bypasses the gate, not the guard.
//
// Floor 2, inside pkg/vcenter; of pkg/sim it imports only gate, which does not use the simulator.
package front
