package attach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// lead opens a port of this machine for each vCenter, and reads what there is to show. It is the last step.
func (s *Sandbox) lead(ctx context.Context) error {
	all, err := ask[[]api.VCenter](ctx, s, "vcenters")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.opts.Dir.Path("vcenters"), 0o700); err != nil {
		return err
	}
	for _, vc := range all {
		if err := s.door.lead(ctx, vc, s.tunnel); err != nil {
			return fmt.Errorf("vCenter %q: %w", vc.Name, err)
		}
	}
	nodes, err := ask[[]api.Node](ctx, s, "nodes")
	if err != nil {
		return err
	}
	st, err := s.remote(ctx)
	if err != nil {
		return err
	}
	s.fromPod(&st)
	st.Step = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes, s.status = nodes, st
	return nil
}

// lead has a free port lead to a vCenter.
func (d *door) lead(ctx context.Context, vc api.VCenter, way tunnel) error {
	u, err := url.Parse(vc.URL)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return fmt.Errorf("URL %q: it has no port", vc.URL)
	}
	l := led{port: port, caFile: d.s.opts.Dir.Path("vcenters", vc.Name+".crt")}
	shown, err := d.s.fetch(ctx, l)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.local = listener.Addr().String()
	if shown.VerifyHostname("127.0.0.1") != nil { // then it is for the name of that
		l.local = net.JoinHostPort("localhost", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	d.mu.Lock()
	d.vcenters[vc.Name] = l
	d.mu.Unlock()
	d.open.Go(func() {
		dial := func(ctx context.Context) (net.Conn, error) { return way.Dial(ctx, port) }
		trouble := func(err error) { d.s.opts.Logger.Warn("port-forward", "vcenter", vc.Name, "err", err) }
		if err := existing.Forward(d.ctx, listener, dial, trouble); err != nil {
			d.s.opts.Logger.Error("port-forward", "vcenter", vc.Name, "err", err)
		}
	})
	return nil
}

// led returns the forwarded address of a vCenter on this host.
func (s *Sandbox) led(vcenter string) (led, bool) {
	if s.door == nil {
		return led{}, false
	}
	s.door.mu.Lock()
	defer s.door.mu.Unlock()
	l, ok := s.door.vcenters[vcenter]
	return l, ok
}

// leads makes the URL of a vCenter one of this machine.
func (s *Sandbox) leads(vc *api.VCenter) {
	if l, ok := s.led(vc.Name); ok {
		vc.URL = elsewhere(vc.URL, l.local)
	}
}

// elsewhere is a URL with another host and port.
func elsewhere(text, host string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.Host = host
	return u.String()
}

// access returns how to reach the vCenters from here. It fetches each vCenter's certificate every time, since a restarted
// pod has new ones.
func (s *Sandbox) access(all []api.Access) ([]api.Access, error) {
	for i, a := range all {
		l, ok := s.led(a.VCenter)
		if !ok {
			return nil, errors.New("vCenter " + a.VCenter + " is not led to yet")
		}
		if _, err := s.fetch(context.Background(), l); err != nil {
			return nil, fmt.Errorf("vCenter %q: certificate: %w", a.VCenter, err)
		}
		all[i].URL, all[i].CAFile = elsewhere(a.URL, l.local), l.caFile
	}
	return all, nil
}

// fetch writes the certificates that a vCenter shows into the file by which clients verify it, and returns the vCenter's own.
// That it is the sandbox's needs no other proof here than the way there, which is the one that its password comes by: the API
// server's verified connection and the pod's own loopback address.
func (s *Sandbox) fetch(ctx context.Context, l led) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	s.mu.Lock()
	way := s.tunnel
	s.mu.Unlock()
	raw, err := way.Dial(ctx, l.port)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) // see above
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	shown := conn.ConnectionState().PeerCertificates // at least one
	var text []byte
	for _, c := range shown {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return shown[0], atomicfile.WriteFile(l.caFile, text, 0o600)
}
