package sim

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// retrieval is as long as what a client usually sends.
const retrieval = `<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this><specSet><propSet><type>VirtualMachine</type><pathSet>name</pathSet><pathSet>guest.net</pathSet><pathSet>runtime.powerState</pathSet></propSet><objectSet><obj type="VirtualMachine">vm-42</obj><skip>false</skip></objectSet></specSet><options></options></RetrievePropertiesEx></Body></Envelope>`

// gateCost is the difference between a call through a gate and one without, over TLS, to a handler that does nothing:
// medians of n calls each, one by turns.
func gateCost(n int) (time.Duration, error) {
	ca, err := cert.NewCA("benchsim")
	if err != nil {
		return 0, err
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "vc", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		return 0, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, NextProtos: []string{"http/1.1"}}
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, retrieval)
	})
	var listeners [2]net.Listener
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return 0, err
		}
	}
	plain := &http.Server{Handler: answer}
	go func() { _ = plain.Serve(tls.NewListener(listeners[0], config)) }()
	defer plain.Close()
	g := gate.New(listeners[1], answer, gate.Options{
		TLS:      config,
		Identify: func(*http.Request) (string, string) { return "key", "user" },
		Name:     func(types.ManagedObjectReference) string { return "vm" },
	})
	defer func() { _ = g.Close(context.Background()) }()

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	var times [2][]float64
	for range n {
		for i, l := range listeners {
			begin := time.Now()
			res, err := client.Post("https://"+l.Addr().String()+"/sdk", "text/xml", strings.NewReader(retrieval))
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil {
				return 0, err
			}
			times[i] = append(times[i], time.Since(begin).Seconds())
		}
	}
	return time.Duration((percentile(times[1], 50) - percentile(times[0], 50)) * float64(time.Second)), nil
}
