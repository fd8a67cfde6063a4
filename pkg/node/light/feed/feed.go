package feed

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// LightKey is the label and taint (NoSchedule) of such Nodes in a cluster with other nodes: a pod that does not tolerate it
// would not really run there, but be reported as running.
const LightKey = "sandbox.vsphere/light"

// State is the state of a machine's guest.
type State string

// The states. Only a guest that is running, and not cut off, sends heartbeats.
const (
	Running   State = "running"
	Stopped   State = "stopped" // off, or its guest or kubelet has not started
	Suspended State = "suspended"
	Hung      State = "hung" // although its VM runs
	Gone      State = "gone" // destroyed, or no node any more; the last state of a machine
)

// Guest is the state of one machine, with everything that its node reports.
type Guest struct {
	// ID is unique, unlike the name.
	ID string `json:"id"`
	// Name is the node's: the guest's hostname in lower case. It stays as long as the guest runs.
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Cut is set if its network is cut off.
	Cut bool `json:"cut,omitempty"`
	// Boot is the boot time of the guest, Starts the number of restarts of its kubelet since.
	Boot   time.Time `json:"boot,omitzero"`
	Starts int       `json:"starts,omitempty"`
	// UUID is the BIOS UUID as the guest reads it.
	UUID        string `json:"uuid,omitempty"`
	CPUs        int    `json:"cpus,omitempty"`
	MemoryBytes uint64 `json:"memoryBytes,omitempty"`
	OSImage     string `json:"osImage,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	// Addresses are the guest's, the primary one first. The node sets them itself only if configured to.
	Addresses []string `json:"addresses,omitempty"`
	// ControlPlane gives the node the taint of kubeadm's control-plane nodes.
	ControlPlane bool `json:"controlPlane,omitempty"`
}

// SendsHeartbeats reports whether the cluster gets heartbeats of the machine.
func (m Guest) SendsHeartbeats() bool { return m.State == Running && !m.Cut }

// equal compares all fields.
func (m Guest) equal(o Guest) bool {
	same := slices.Equal(m.Addresses, o.Addresses) && m.Boot.Equal(o.Boot)
	m.Addresses, m.Boot = o.Addresses, o.Boot
	return same && reflect.DeepEqual(m, o)
}

// Line is one line of the stream. An empty one is a keep-alive.
type Line struct {
	Guest *Guest `json:"machine,omitempty"`
	// Synced marks that all machines were sent. It comes once in a stream.
	Synced bool `json:"synced,omitempty"`
}

// Source has the machines and sends them to readers. Create it with [NewSource]. Its methods may be called from any
// goroutine, and do not block on a reader.
type Source struct {
	mu       sync.Mutex
	machines map[string]Guest
	readers  map[*reader]struct{}
}

// NewSource returns a source without machines.
func NewSource() *Source {
	return &Source{machines: map[string]Guest{}, readers: map[*reader]struct{}{}}
}

// Set sets the state of a machine and sends it to the readers if it differs. A machine that is [Gone] is removed.
func (s *Source) Set(m Guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.machines[m.ID]
	switch {
	case m.State != Gone && known && was.equal(m), m.State == Gone && !known:
		return
	case m.State == Gone:
		delete(s.machines, m.ID)
	default:
		s.machines[m.ID] = m
	}
	for r := range s.readers {
		r.pend(m.ID)
	}
}

// Guests returns all machines, sorted by ID.
func (s *Source) Guests() []Guest {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Guest, 0, len(s.machines))
	for _, id := range slices.Sorted(maps.Keys(s.machines)) {
		list = append(list, s.machines[id])
	}
	return list
}

// reader is a connected client. It queues IDs, not states: the state is read when it is sent.
type reader struct {
	pending map[string]struct{}
	order   []string
	wake    chan struct{}
}

// pend queues a machine. The caller holds the source's lock.
func (r *reader) pend(id string) {
	if _, ok := r.pending[id]; ok {
		return
	}
	r.pending[id] = struct{}{}
	r.order = append(r.order, id)
	notify.Wake(r.wake)
}

// read returns a reader with all machines queued.
func (s *Source) read() *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &reader{pending: make(map[string]struct{}, len(s.machines)), wake: make(chan struct{}, 1)}
	for _, id := range slices.Sorted(maps.Keys(s.machines)) {
		r.pend(id)
	}
	s.readers[r] = struct{}{}
	return r
}

func (s *Source) forget(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
}

// page is the maximum number of machines sent at once.
const page = 256

// take returns the present states of some queued machines, or none.
func (s *Source) take(r *reader) []Guest {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(page, len(r.order))
	taken := make([]Guest, 0, n)
	for _, id := range r.order[:n] {
		delete(r.pending, id)
		m, ok := s.machines[id]
		if !ok {
			m = Guest{ID: id, State: Gone}
		}
		taken = append(taken, m)
	}
	if r.order = r.order[n:]; len(r.order) == 0 {
		r.order = nil
	}
	return taken
}

// Handler has the callbacks of [Follow]; one goroutine calls them.
type Handler struct {
	// Changed is called with a machine that is new, has changed or is gone.
	Changed func(Guest)
	// Synced is called after all machines were passed to Changed: at first, and after each reconnect.
	Synced func()
	// Lost is called with the reason when the connection is lost. Until the reconnect, the last states stay valid.
	Lost func(error)
}

const (
	minPause = 200 * time.Millisecond
	maxPause = 5 * time.Second
	// silence is the time without data after which the reader reconnects.
	silence = 3 * alive
	// maxLine bounds a line, in bytes.
	maxLine = 1 << 20
)

var errSilent = errors.New("the feed was silent for too long")

// Follow calls h with the machines of a shard, and their changes, until ctx ends. It reconnects when the stream ends, and
// then reports only what changed since; machines that the source no longer has are reported as gone.
func Follow(ctx context.Context, w Endpoint, shard Shard, h Handler) error {
	if err := w.Validate(); err != nil {
		return err
	}
	f := follower{shard: shard, h: h, known: map[string]Guest{}}
	for failures := 1; ; failures++ {
		synced, err := f.stream(ctx, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if synced {
			failures = 1
		}
		if h.Lost != nil {
			h.Lost(err)
		}
		if backoff.Sleep(ctx, backoff.Backoff{Min: minPause, Max: maxPause}.After(failures)) != nil {
			return ctx.Err()
		}
	}
}

type follower struct {
	shard Shard
	h     Handler
	known map[string]Guest
}

// stream follows one stream to its end. It returns whether it got as far as Synced.
func (f *follower) stream(ctx context.Context, w Endpoint) (synced bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, req, err := w.request(ctx)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("machines: %s", resp.Status)
	}
	return f.lines(ctx, cancel, resp.Body)
}

func (f *follower) lines(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) (synced bool, err error) {
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	listed := map[string]bool{}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		quiet.Reset(silence)
		var l Line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return synced, fmt.Errorf("machines: %w", err)
		}
		if l.Guest != nil {
			if !synced {
				listed[l.Guest.ID] = true
			}
			f.changed(*l.Guest)
		}
		if !l.Synced || synced {
			continue
		}
		synced = true
		for id := range f.known {
			if !listed[id] {
				f.changed(Guest{ID: id, State: Gone})
			}
		}
		if f.h.Synced != nil {
			f.h.Synced()
		}
	}
	switch err := lines.Err(); {
	case errors.Is(context.Cause(ctx), errSilent):
		return synced, errSilent
	case err != nil:
		return synced, fmt.Errorf("machines: %w", err)
	}
	return synced, errors.New("machines: the stream has ended")
}

// changed passes on changes. A machine whose present name is in another shard is gone from this one.
func (f *follower) changed(m Guest) {
	if m.State != Gone && !f.shard.Has(m.Name) {
		m = Guest{ID: m.ID, State: Gone}
	}
	was, known := f.known[m.ID]
	switch {
	case m.State == Gone && !known, m.State != Gone && known && was.equal(m):
		return
	case m.State == Gone:
		was.State = Gone
		m = was // with its old name
		delete(f.known, m.ID)
	default:
		f.known[m.ID] = m
	}
	f.h.Changed(m)
}

// alive is the interval of the keep-alive lines. A reader that gets nothing for several of them reconnects.
const alive = 10 * time.Second

// writeTimeout limits writing a page to a client.
const writeTimeout = time.Minute

// ServeHTTP sends all machines, and then every change until the client disconnects.
func (s *Source) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := s.read()
	defer s.forget(r)
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	tick := time.NewTicker(alive)
	defer tick.Stop()
	synced := false
	for {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder in a test has none
		taken := s.take(r)
		for i := range taken {
			if enc.Encode(Line{Guest: &taken[i]}) != nil {
				return
			}
		}
		if len(taken) == page {
			continue
		}
		if !synced {
			synced = true
			if enc.Encode(Line{Synced: true}) != nil {
				return
			}
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-r.wake:
		case <-tick.C:
			if enc.Encode(Line{}) != nil {
				return
			}
		case <-req.Context().Done():
			return
		}
	}
}

// Path is the path that a source is served at.
const Path = "/v1/machines"

// Endpoint locates a source, with credentials. The files are read at each connection, so they may be rotated.
type Endpoint struct {
	// URL is "unix:PATH", a socket, or "https://HOST[:PORT][/PATH]"; the default path is [Path].
	URL string
	// TokenFile has a bearer token, CAFile the authorities, in PEM, for the server's certificate (default: the host's).
	// Both are for https.
	TokenFile, CAFile string
}

// Validate returns an error if the fields cannot identify a source.
func (w Endpoint) Validate() error {
	if path, ok := strings.CutPrefix(w.URL, "unix:"); ok {
		if path == "" || w.TokenFile != "" || w.CAFile != "" {
			return fmt.Errorf("feed %q: must be unix:PATH, without token and CA, which are for https", w.URL)
		}
		return nil
	}
	u, err := url.Parse(w.URL)
	if err == nil && u.User != nil {
		return fmt.Errorf("feed %q: must not hold a user; a token is read from a file", u.Redacted())
	}
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("feed %q: must be unix:PATH or https://HOST[:PORT]", w.URL)
	}
	return nil
}

// connectTimeout limits everything up to the response header.
const connectTimeout = 10 * time.Second

// request returns a client and a request for one stream.
func (w Endpoint) request(ctx context.Context) (*http.Client, *http.Request, error) {
	d := net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: connectTimeout, DialContext: d.DialContext}
	to := w.URL
	if path, ok := strings.CutPrefix(to, "unix:"); ok {
		to = "http://source" + Path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", path) }
	} else if u, err := url.Parse(to); err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = Path
		to = u.String()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return nil, nil, err
	}
	if w.CAFile != "" {
		pem, err := os.ReadFile(w.CAFile)
		if err != nil {
			return nil, nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, nil, fmt.Errorf("%s: holds no certificate", w.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if w.TokenFile != "" {
		token, err := os.ReadFile(w.TokenFile)
		if err != nil {
			return nil, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	// Do not send the token to the target of a redirect.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: refuse}, req, nil
}

// Shard is one of Of equal parts of all machines, by the hash of their names, so that several programs share the work and
// each node has one of them. The zero value is all machines.
type Shard struct {
	// Index counts from 0.
	Index, Of int
}

// ParseShard parses "I/N", the shard I (from 0) of N. An empty text means all machines.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err != nil || err2 != nil || of < 1 || index < 0 || index >= of {
		return Shard{}, fmt.Errorf("shard %q: must be I/N with I from 0 to N-1, such as 0/3", text)
	}
	return Shard{index, of}, nil
}

// Has reports whether the machine of that name is in the shard.
func (s Shard) Has(name string) bool {
	if s.Of <= 1 {
		return true
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32()%uint32(s.Of)) == s.Index
}

// String formats it for [ParseShard].
func (s Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}
