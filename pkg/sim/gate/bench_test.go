package gate_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// retrieval is as long as what a client usually sends.
const retrieval = `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Header xmlns="http://schemas.xmlsoap.org/soap/envelope/"><operationID>0a1b2c3d</operationID></Header><Body><RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this><specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet><pathSet>guest.net</pathSet><pathSet>runtime.powerState</pathSet></propSet><objectSet><obj type="VirtualMachine">vm-42</obj><skip>false</skip></objectSet></specSet><options></options></RetrievePropertiesEx></Body></Envelope>`

// what a simulator does at least.
func discard(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, retrieval)
}

// rules are twenty of which none hits.
func rules() (list []gate.Rule) {
	for i := range 20 {
		list = append(list, gate.Rule{
			Match:  gate.Match{Client: "govc*", Methods: []string{"Retrieve*"}, Object: gate.Object{Type: "VirtualMachine", Name: fmt.Sprintf("worker-%d", i)}},
			Action: gate.Hang{},
		})
	}
	return list
}

func hooks() gate.Options {
	return gate.Options{
		Identify: func(*http.Request) (string, string) { return "key", "user" },
		Name:     func(types.ManagedObjectReference) string { return "master-1" },
	}
}

// BenchmarkCall is what the gate adds to a call, without network: the difference to "none".
func BenchmarkCall(b *testing.B) {
	gated := func(list ...gate.Rule) http.Handler {
		h, err := gate.NewHandler(http.HandlerFunc(discard), hooks(), list...)
		if err != nil {
			b.Fatal(err)
		}
		return h
	}
	for _, bc := range []struct {
		name    string
		handler http.Handler
	}{
		{"none", http.HandlerFunc(discard)},
		{"idle", gated()},
		{"rules=20", gated(rules()...)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/sdk", strings.NewReader(retrieval))
				r.Header.Set("Content-Type", "text/xml")
				r.Header.Set("User-Agent", "govc/0.56")
				bc.handler.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// BenchmarkIdle is a call over TLS: straight to net/http, and through a gate without and with rules.
func BenchmarkIdle(b *testing.B) {
	ca, err := cert.NewCA("bench")
	if err != nil {
		b.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "vc", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		b.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, NextProtos: []string{"http/1.1"}}
	listen := func(b *testing.B) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		return l
	}
	calls := func(b *testing.B, addr string) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		for b.Loop() {
			res, err := client.Post("https://"+addr+"/sdk", "text/xml", strings.NewReader(retrieval))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	b.Run("direct", func(b *testing.B) {
		s := &http.Server{Handler: http.HandlerFunc(discard), TLSConfig: config}
		l := listen(b)
		go func() { _ = s.Serve(tls.NewListener(l, config)) }()
		defer s.Close()
		calls(b, l.Addr().String())
	})
	for name, list := range map[string][]gate.Rule{"gate": nil, "gate/rules=20": rules()} {
		b.Run(name, func(b *testing.B) {
			opts := hooks()
			opts.TLS = config
			g := gate.New(listen(b), http.HandlerFunc(discard), opts)
			defer func() { _ = g.Close(b.Context()) }()
			for _, r := range list {
				if _, err := g.Add(r); err != nil {
					b.Fatal(err)
				}
			}
			calls(b, g.Addr())
		})
	}
}
