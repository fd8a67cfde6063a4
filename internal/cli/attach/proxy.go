package attach

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// routes serves the control API: a few requests here, the others through the pod.
func (s *Sandbox) routes() http.Handler {
	pod := s.proxy()
	mux := http.NewServeMux()
	mux.Handle("/", pod)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		if st, err := s.remote(r.Context()); err == nil {
			s.fromPod(&st)
			reply(w, st)
			return
		}
		reply(w, s.absent())
	})
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		select {
		case <-s.asked:
			reply(w, api.Done{Message: "stopping already"})
		default:
			close(s.asked)
			reply(w, api.Done{Message: "stopping"})
		}
	})
	mux.HandleFunc("POST /v1/volume-path", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, "the files of volumes are in the cluster, not on this machine", "vsphere-sandbox kubectl exec POD -- ls PATH")
	})
	mux.HandleFunc("POST /v1/ccm", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		var in api.CCMRequest
		if err == nil && json.Unmarshal(body, &in) == nil && in.Path != "" {
			refuse(w, "a program of this machine cannot run in the cluster", "")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pod.ServeHTTP(w, r)
	})
	return mux
}

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 1 << 20

// proxy passes requests on to the pod, and what is said of this machine back as it is here.
func (s *Sandbox) proxy() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "sandbox", "sandbox"
		},
		Transport:     &http.Transport{DialContext: s.dialControl, DisableKeepAlives: true},
		FlushInterval: -1, // what is streamed is news
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode != http.StatusOK || r.Request.Method != http.MethodGet {
				return nil
			}
			switch r.Request.URL.Path {
			case "/v1/vcenters":
				return rewrite(r, func(all []api.VCenter) ([]api.VCenter, error) {
					for i := range all {
						s.leads(&all[i])
					}
					return all, nil
				})
			case "/v1/access":
				return rewrite(r, s.access)
			case "/v1/watch":
				r.Body = s.watched(r.Body)
				r.ContentLength = -1
				r.Header.Del("Content-Length")
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return
			}
			fail(w, http.StatusServiceUnavailable, api.Error{
				Code: "unavailable", Message: "the sandbox's pod cannot be asked: " + err.Error(),
				Try: fmt.Sprintf("vsphere-sandbox status\nkubectl -n %s get pods", existing.NamespaceOf(s.opts.Name)),
			})
		},
	}
}

var errNoPod = errors.New("there is no pod yet")

func (s *Sandbox) dialControl(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	way := s.tunnel
	s.mu.Unlock()
	if way == nil {
		return nil, errNoPod
	}
	return way.Dial(ctx, existing.ControlPort)
}

// ask asks the pod.
func ask[T any](ctx context.Context, s *Sandbox, what string) (T, error) {
	var answer T
	transport := &http.Transport{DialContext: s.dialControl, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://sandbox/v1/"+what, nil)
	if err != nil {
		return answer, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		e := &api.Error{}
		if err := json.NewDecoder(resp.Body).Decode(e); err != nil || e.Code == "" {
			return answer, fmt.Errorf("%s: %s", what, resp.Status)
		}
		return answer, e
	}
	return answer, json.NewDecoder(resp.Body).Decode(&answer)
}

// fromPod makes a status of the pod one of this machine.
func (s *Sandbox) fromPod(st *api.Status) {
	for i := range st.VCenters {
		s.leads(&st.VCenters[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Phase == api.Ready && s.phase == api.Booting {
		st.Step = s.at.Name
	}
	s.local(st)
}

// rewrite changes what an answer says.
func rewrite[T any](r *http.Response, change func(T) (T, error)) error {
	var v T
	err := json.NewDecoder(r.Body).Decode(&v)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	if v, err = change(v); err != nil {
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

// watched passes the stream of updates on, with the vCenters' rows as they are here.
func (s *Sandbox) watched(body io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				if _, err := w.Write(s.line(line)); err != nil {
					break // the client has gone
				}
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				w.CloseWithError(err)
				break
			}
		}
	}()
	return struct {
		io.Reader
		io.Closer
	}{r, closer(func() error { return errors.Join(r.Close(), body.Close()) })}
}

type closer func() error

func (c closer) Close() error { return c() }

// line is one line of the stream. Most are passed on as they are.
func (s *Sandbox) line(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"vcenter":{`)) {
		return line
	}
	var u api.Update
	if json.Unmarshal(line, &u) != nil || u.VCenter == nil {
		return line
	}
	s.leads(u.VCenter)
	text, err := json.Marshal(u)
	if err != nil {
		return line
	}
	return append(text, '\n')
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func refuse(w http.ResponseWriter, why, try string) {
	fail(w, http.StatusUnprocessableEntity, api.Error{Code: "unsupported", Message: why, Try: try})
}

func fail(w http.ResponseWriter, status int, e api.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // the client may have gone
}

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
