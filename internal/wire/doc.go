// Package wire forwards TCP connections to one address, or between two connections that exist already ([Wire.Join]). It can cut
// or delay them, as a cable would: cut, it resets connections; silent, it drops all bytes; slow, it delays them.
//
// It does not parse the data: TLS is between the two ends, and a name or an address in a certificate must match [Wire.Addr].
//
// Floor 0: it imports nothing else of this module.
package wire
