// Package wire forwards TCP connections to one address, over a way that can be cut and made long. It is what a cable is
// to whoever is at its end: unplugged it resets what was connected, dropped into a black hole it swallows bytes and says
// nothing, and a long one takes its time.
//
// A wire does not know what goes over it: TLS is between the two ends, and a name or an address in a certificate has to
// suit [Wire.Addr].
//
// Floor 0: it imports nothing else of this module.
package wire
