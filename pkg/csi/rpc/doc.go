// Package rpc serves CSI on a unix socket: what every call goes through, whichever service it is for.
//
//	s, err := rpc.Listen(rpc.Config{Endpoint: "unix:///csi/csi.sock", Register: register, Logger: log})
//	err = s.Run(ctx)
//
// A call is bounded in time, survives a panic of its service (Internal, with the stack in the log), is logged without its
// secrets, and counted. It knows no service.
//
// Floor 1: it imports nothing of this module.
package rpc
