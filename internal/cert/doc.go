// Package cert is the sandbox's certificate authority: vCenters, API server, etcd and every client get their
// certificates from one made for that sandbox alone, so that TLS is verified everywhere and no key outlives its
// instance directory.
//
// Floor 0.
package cert
