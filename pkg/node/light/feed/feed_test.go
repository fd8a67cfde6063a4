package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func machine(n int, s State) Guest {
	return Guest{ID: fmt.Sprintf("vc/vm-%03d", n), Name: fmt.Sprintf("worker-%d", n), State: s}
}

// A reader that does not read for a while gets the last state of each machine, and blocks no other.
func TestSlowReader(t *testing.T) {
	s := NewSource()
	for n := range 3 {
		s.Set(machine(n, Running))
	}
	r := s.read()
	for range 1000 {
		s.Set(machine(1, Stopped))
		s.Set(machine(1, Running))
	}
	s.Set(machine(1, Hung))
	s.Set(Guest{ID: machine(2, Gone).ID, State: Gone})
	want := []Guest{machine(0, Running), machine(1, Hung), {ID: "vc/vm-002", State: Gone}}
	if diff := cmp.Diff(want, s.take(r)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if more := s.take(r); len(more) > 0 {
		t.Errorf("told again: %v", more)
	}
	s.Set(machine(1, Hung))
	s.Set(Guest{ID: "vc/unknown", State: Gone})
	if more := s.take(r); len(more) > 0 {
		t.Errorf("no news was told: %v", more)
	}
	s.forget(r)
	s.Set(machine(1, Running))
	if more := s.take(r); len(more) > 0 {
		t.Errorf("told after it left: %v", more)
	}
}

func TestManyPages(t *testing.T) {
	s := NewSource()
	for n := range 2*page + 1 {
		s.Set(machine(n, Running))
	}
	r, got := s.read(), 0
	for _, want := range []int{page, page, 1, 0} {
		taken := s.take(r)
		if len(taken) != want {
			t.Fatalf("a page of %d, want %d", len(taken), want)
		}
		got += want
	}
	if list := s.Guests(); got != len(list) || !slices.IsSortedFunc(list, func(a, b Guest) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%d told of %d", got, len(list))
	}
}

func TestServedLines(t *testing.T) {
	s := NewSource()
	s.Set(machine(1, Running))
	srv := httptest.NewServer(s)
	defer srv.Close()
	resp, err := srv.Client().Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (l Line) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the stream has ended: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := next(); l.Guest == nil || !l.Guest.equal(machine(1, Running)) {
		t.Errorf("first line %+v", l)
	}
	if l := next(); !l.Synced {
		t.Errorf("second line %+v, want synced", l)
	}
	s.Set(machine(1, Stopped))
	if l := next(); l.Guest == nil || l.Guest.State != Stopped {
		t.Errorf("third line %+v", l)
	}
}

// log has the calls of a handler, as text.
type log chan string

func (l log) handler() Handler {
	return Handler{
		Changed: func(m Guest) { l <- m.Name + " " + string(m.State) },
		Synced:  func() { l <- "synced" },
	}
}

func (l log) expect(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case s := <-l:
			got = append(got, s)
		case <-time.After(20 * time.Second):
			t.Fatalf("told %q and no more, want %q", got, want)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("told (-want +got):\n%s", diff)
	}
}

// follow follows a source until the test ends.
func follow(t *testing.T, w Endpoint, s Shard) log {
	l := make(log, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Follow(ctx, w, s, l.handler()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow: %v", err)
		}
	})
	return l
}

// A reader whose source disappears and returns gets what changed since, and nothing twice.
func TestFollowReconnects(t *testing.T) {
	s := NewSource()
	s.Set(machine(1, Running))
	s.Set(machine(2, Running))
	socket := filepath.Join(t.TempDir(), "s")
	serve := func(s *Source) *http.Server {
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET "+Path, s)
		srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
		go func() { _ = srv.Serve(l) }()
		return srv
	}
	srv := serve(s)
	l := follow(t, Endpoint{URL: "unix:" + socket}, Shard{})
	l.expect(t, "worker-1 running", "worker-2 running", "synced")
	s.Set(machine(2, Suspended))
	l.expect(t, "worker-2 suspended")
	srv.Close()
	again := NewSource()
	again.Set(machine(2, Suspended))
	again.Set(machine(3, Running))
	srv = serve(again)
	defer func() { srv.Close() }()
	l.expect(t, "worker-3 running", "worker-1 gone", "synced")
}

func TestFollowOverHTTPS(t *testing.T) {
	s := NewSource()
	s.Set(machine(1, Running))
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != Path {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := write("token", "wrong\n")
	ca := write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	lost := make(chan string, 100)
	reported := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Follow(ctx, Endpoint{URL: srv.URL, TokenFile: token, CAFile: ca}, Shard{}, Handler{
			Changed: func(m Guest) { reported <- m.Name },
			Lost:    func(err error) { lost <- err.Error() },
		})
	}()
	if why := <-lost; !strings.Contains(why, "401") {
		t.Errorf("with a wrong token: %s", why)
	}
	write("token", "secret\n") // it was renewed
	if name := <-reported; name != "worker-1" {
		t.Errorf("told of %q", name)
	}
	cancel()
	<-done

	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		done <- Follow(ctx, Endpoint{URL: srv.URL, TokenFile: token}, Shard{}, Handler{Lost: func(err error) { lost <- err.Error(); cancel() }})
	}()
	<-done
	if why := <-lost; !strings.Contains(why, "certificate") {
		t.Errorf("with an unknown authority: %s", why)
	}
}

// The reader reconnects to a source that is silent.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		here, there := net.Pipe()
		defer context.AfterFunc(ctx, func() { here.Close() })()
		go func() { _, _ = there.Write([]byte("{\"synced\":true}\n")) }()
		f := follower{known: map[string]Guest{}, h: Handler{Changed: func(Guest) {}}}
		began := time.Now()
		synced, err := f.lines(ctx, cancel, here)
		if !synced || !errors.Is(err, errSilent) || time.Since(began) != silence {
			t.Errorf("synced %t, after %s: %v", synced, time.Since(began), err)
		}
		there.Close()
	})
}

// Each machine is in exactly one shard, and no shard has much more than its part.
func TestShards(t *testing.T) {
	const of, total = 3, 3000
	var counts [of]int
	for n := range total {
		name, in := machine(n, Running).Name, 0
		for i := range of {
			if (Shard{i, of}).Has(name) {
				in++
				counts[i]++
			}
		}
		if in != 1 {
			t.Fatalf("%s is in %d shards", name, in)
		}
	}
	for i, n := range counts {
		if n < total/of*8/10 || n > total/of*12/10 {
			t.Errorf("shard %d has %d of %d", i, n, total)
		}
	}
	for _, text := range []string{"3/3", "-1/3", "1", "a/b", "0/0", "1/2/3", "/"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
	if s, err := ParseShard("2/3"); err != nil || s.String() != "2/3" {
		t.Errorf("2/3 is %v, %v", s, err)
	}
}

// A machine that gets a name of another shard is gone from this one.
func TestRenamedOutOfTheShard(t *testing.T) {
	shard := Shard{0, 2}
	var in, out Guest
	for n := range 100 {
		if m := machine(n, Running); shard.Has(m.Name) {
			in = m
		} else {
			out = m
		}
	}
	s := NewSource()
	s.Set(in)
	srv := httptest.NewTLSServer(s)
	t.Cleanup(srv.Close) // after the follower has left
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	l := follow(t, Endpoint{URL: srv.URL, CAFile: ca}, shard)
	l.expect(t, in.Name+" running", "synced")
	renamed := in
	renamed.Name = out.Name
	s.Set(renamed)
	l.expect(t, in.Name+" gone")
}

func TestWhere(t *testing.T) {
	for _, w := range []Endpoint{
		{},
		{URL: "unix:"},
		{URL: "http://host"},
		{URL: "https://"},
		{URL: "https://user:secret@host"},
		{URL: "/path"},
		{URL: "unix:/s", TokenFile: "t"},
		{URL: "unix:/s", CAFile: "c"},
	} {
		if err := w.Validate(); err == nil {
			t.Errorf("%+v is valid", w)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%v tells a secret", err)
		}
	}
	for _, w := range []Endpoint{{URL: "unix:/s"}, {URL: "https://host:1/x", TokenFile: "t", CAFile: "c"}} {
		if err := w.Validate(); err != nil {
			t.Errorf("%+v: %v", w, err)
		}
	}
}
