// Package front is the HTTPS front of one vCenter that is not ours: a gate, as simulated vCenters have it, and behind it a
// proxy to the vCenter. So its API can be slow, silent, refused or wrong for the clients of the sandbox, and its calls be
// counted, while nothing happens to the vCenter and its other clients.
//
//	f, err := front.New(front.Options{VCenter: v, Listener: l, CA: ca, Guard: g})
//	if err != nil { … }
//	defer f.Close(ctx)
//	err = f.Gate().Set(ctx, gate.Mode{State: gate.Slow, Delay: time.Second})
//
// Towards clients it speaks TLS with a certificate of our own authority, towards the vCenter as [vcenter.VCenter] says: its
// authority, or its thumbprint. What the guard knows goes through: SOAP (vim25, CNS, PBM, VSLM), the Automation API, the lookup
// service, long polls; files do not. The front sends what the guard has written from what it read. Answers are streamed:
// of an answer the Domain of cookies and the host of a redirect are other ones, no other byte is.
//
// So addresses inside answers are the vCenter's own. Two matter: the lookup service names the token service (STS) by them,
// and a lease for the upload of disks (NFC) names hosts. A client that logs in with a token of SAML therefore gets it from the
// vCenter itself, past the gate, and has to trust the vCenter's certificate; the login with the token goes through the front,
// as does everything after it. Logins with user and password never leave the front.
//
// Requests are shown to a guard first, which refuses what it does not know to read; see package guard. [Front.DialConsole] is for whoever runs
// the sandbox: past the gate, not past the guard.
//
// Floor 2, inside pkg/vcenter; of pkg/sim it imports gate alone, which knows no simulator.
package front
