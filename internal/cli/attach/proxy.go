package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"

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
