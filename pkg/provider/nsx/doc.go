// Package nsx is a client of NSX-T's Policy API: objects in a tree, below /policy/api/v1.
//
// A [Client] reads, writes and lists [Object]s, as JSON has them: fields that it does not know survive a change. It logs in
// with what its configuration has: a session for a user and a password (basic authentication if the manager has no sessions,
// scheme Remote for users of an identity provider), a client certificate, or a token of VMware Cloud. What NSX asks for is
// done here: a call that was throttled (429) or came at a bad time (503) is made again after Retry-After, an expired session
// is replaced, and [Client.Update] reads an object again that someone else has changed (409, 412). Refused credentials are
// tried again so rarely that no account is locked.
//
//	client, err := nsx.New(nsx.Config{
//		Host: "nsx.example", UserAgent: "my-tool",
//		Credentials: func(context.Context) (nsx.Credentials, error) { … },
//	})
//	defer client.Close(ctx)
//	o, err := client.Create(ctx, "/infra/lb-pools/one", nsx.Object{"display_name": "one"})
//	o, err = client.Update(ctx, o, func(o nsx.Object) bool { o["description"] = "changed"; return true })
//	all, err := client.List(ctx, "/infra/lb-pools")
//
// The package has no load balancers and no routes, and does not depend on Kubernetes.
//
// Floor 1, inside pkg/provider.
package nsx
