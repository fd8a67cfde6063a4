// Package rpc serves CSI on a unix socket, with the interceptors that all services share.
//
//	s, err := rpc.Listen(rpc.Config{Endpoint: "unix:///csi/csi.sock", Register: register, Logger: log})
//	err = s.Run(ctx)
//
// A call has a timeout, is logged without secrets, and is counted. A panic of its service becomes Internal, with the stack in
// the log.
// secrets, and counted. It knows no service.
//
// Floor 1: it imports nothing of this module.
package rpc
