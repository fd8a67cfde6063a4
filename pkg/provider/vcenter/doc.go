// Package vcenter keeps one connection to one vCenter alive and watches its inventory.
//
// A [Client] owns one SOAP session and, from the first [Client.DoREST] on, one REST session; while one set of
// credentials takes another's place there are two for the moment of a logout. [Client.Run] logs in, finds out when a
// session or the vCenter itself is gone, comes back and logs out at its end; [Client.Do] and [Client.DoREST] make single
// calls with a deadline; [Client.Watch] holds one long poll over chosen types and properties and says plainly when what
// it delivered is complete (Synced) and when it no longer is (Lost).
//
// Every call has a deadline: a vCenter that accepts connections and never answers is noticed, and costs the caller no
// more than that deadline; later callers are told at once. How soon the next attempt is made depends on what went wrong
// with the last: a vCenter that does not answer is asked every second or two, with a call that needs no session; one
// that answers with an error, or with a certificate that is not to be trusted, with back-off; and refused credentials
// are repeated so seldom that no account is locked. Nothing is ever tried without credentials.
//
//	client, err := vcenter.New(vcenter.Config{
//		Name: "west", Server: "vc-west.example", UserAgent: "my-tool",
//		Credentials: func(context.Context) (vcenter.Credentials, error) { … },
//	})
//	go client.Run(ctx)
//	client.Watch(ctx, vcenter.WatchSpec{Properties: map[string][]string{"VirtualMachine": {"name"}}}, handler)
//
// It knows nothing of Kubernetes, of nodes or of how an inventory is indexed.
//
// Floor 1: it imports nothing of this module.
package vcenter
