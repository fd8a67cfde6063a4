// Package vcenter keeps a connection to one vCenter alive and watches its inventory.
//
// A [Client] has one SOAP session and, from the first [Client.DoREST] on, one REST session. While new credentials replace
// old ones, there are briefly two. [Client.Run] logs in, detects when a session or the vCenter is gone, reconnects, and logs
// out at its end. [Client.Do] and [Client.DoREST] make single calls with a deadline. [Client.Watch] runs one long poll over
// selected types and properties, and reports when the delivered state is complete (Synced) and when it no longer is (Lost).
//
// Every call has a deadline. A vCenter that accepts connections but never responds costs the caller no more than that
// deadline, and later callers get an error at once. The pause before the next attempt depends on the last failure. A
// vCenter that does not respond is tried every second or two, with a call that needs no session. After an error response
// or an untrusted certificate, the pause grows. Refused credentials are retried so rarely that no account is locked. Nothing
// is tried without credentials.
//
//	client, err := vcenter.New(vcenter.Config{
//		Name: "west", Server: "vc-west.example", UserAgent: "my-tool",
//		Credentials: func(context.Context) (vcenter.Credentials, error) { … },
//	})
//	go client.Run(ctx)
//	client.Watch(ctx, vcenter.WatchSpec{Properties: map[string][]string{"VirtualMachine": {"name"}}}, handler)
//
// The package does not depend on Kubernetes, and does not know how its user indexes an inventory.
//
// Floor 1: it imports nothing of this module.
package vcenter
