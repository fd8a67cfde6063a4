package vcsim

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
)

// running is a program that announced itself.
type running struct {
	url *url.URL
	err *bytes.Buffer // standard error; read it after the end
	end func() int    // sends the signal, and returns the exit status
}

// start runs the program with -l 127.0.0.1:0 and a pipe for the variables, as suites for vcsim do.
func start(t *testing.T, in io.Reader, args ...string) *running {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &running{err: new(bytes.Buffer)}
	if in == nil {
		in, _ = io.Pipe()
	}
	ctx, cancel := context.WithCancel(t.Context())
	status := make(chan int, 1)
	go func() {
		status <- Main(ctx, append([]string{"-l", "127.0.0.1:0", "-E", fifo}, args...), &iostreams.Streams{In: in, Out: io.Discard, Err: r.err})
		if f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // for a reader of a program that failed
			_ = f.Close()
		}
	}()
	line, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	var address string
	var pid int
	if _, err := fmt.Sscanf(string(line), "export GOVC_URL=%s GOVC_SIM_PID=%d\n", &address, &pid); err != nil || pid != os.Getpid() {
		t.Fatalf("announced %q, %v; ended with %d: %s", line, err, <-status, r.err)
	}
	if r.url, err = url.Parse(address); err != nil {
		t.Fatal(err)
	}
	r.end = func() int {
		cancel()
		select {
		case s := <-status:
			status <- s
			return s
		case <-time.After(30 * time.Second):
			t.Fatal("does not end")
			return -1
		}
	}
	t.Cleanup(func() { r.end() })
	return r
}

func (r *running) client(t *testing.T) *govmomi.Client {
	t.Helper()
	c, err := govmomi.NewClient(t.Context(), r.url, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// list returns the number of objects at a path.
func list(t *testing.T, c *govmomi.Client, path string) int {
	t.Helper()
	all, err := find.NewFinder(c.Client, true).ManagedObjectList(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	ca, err := cert.NewCA("own")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "own.example", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	crt, key := file("own.crt", pair.Cert), file("own.key", pair.Key)
	has := func(path string, n int) func(*testing.T, *running) {
		return func(t *testing.T, r *running) {
			if got := list(t, r.client(t), path); got != n {
				t.Errorf("%d at %s, want %d", got, path, n)
			}
		}
	}
	tested := map[string]bool{"l": true, "E": true, "load": true} // in every case, and in TestLoad
	for _, tc := range []struct {
		flag, args string
		check      func(*testing.T, *running)
	}{
		{"dc", "-dc 2", has("/*/vm/*", 8)},
		{"dc", "-dc 0", has("/*", 0)},
		{"cluster", "-cluster 2", has("/DC0/host/DC0_C*", 2)},
		{"host", "-host 2", has("/DC0/host/DC0_C0/DC0_C0_H*", 2)},
		{"host", "-host 0", has("/DC0/host/DC0_C0", 1)},
		{"standalone-host", "-standalone-host 2", has("/DC0/host/DC0_H*", 2)},
		{"ds", "-ds 2", has("/DC0/datastore/LocalDS_*", 2)},
		{"vm", "-vm 1", has("/DC0/vm/*", 2)},
		{"pool", "-pool 2", has("/DC0/host/DC0_C0/Resources/DC0_C0_RP*", 2)},
		{"app", "-app 1", has("/DC0/host/DC0_C0/Resources/DC0_C0_APP0", 1)},
		{"pod", "-pod 2", has("/DC0/datastore/DC0_POD*", 2)},
		{"pg", "-pg 3", has("/DC0/network/DC0_DVPG*", 3)},
		{"pg-nsx", "-pg-nsx 2", has("/DC0/network/DC0_NSXPG*", 2)},
		{"nsx", "-nsx 2", func(t *testing.T, r *running) {
			c := r.client(t)
			if pg, nsx := list(t, c, "/DC0/network/DC0_NSXPG*"), list(t, c, "/DC0/network/DC0_NSX[0-9]"); pg != 2 || nsx != 2 {
				t.Errorf("%d port groups and %d opaque networks, want 2 of each", pg, nsx)
			}
		}},
		{"folder", "-folder 1 -dc 2", func(t *testing.T, r *running) {
			c := r.client(t)
			for _, path := range []string{
				"/F0/DC1/vm/F0/DC1_H0_VM0", "/F0/DC1/host/F0/DC1_C0", "/F0/DC1/host/F0/DC1_H0", "/F0/DC1/datastore/F0/LocalDS_0",
				"/F0/DC1/network/F0/DC1_DVPG0", "/DC0/vm/DC0_H0_VM0",
			} {
				if n := list(t, c, path); n != 1 {
					t.Errorf("%d at %s", n, path)
				}
			}
		}},
		{"autostart", "-autostart=false", func(t *testing.T, r *running) {
			c := r.client(t)
			vm, err := find.NewFinder(c.Client, true).VirtualMachine(t.Context(), "/DC0/vm/DC0_H0_VM0")
			if err != nil {
				t.Fatal(err)
			}
			if state, err := vm.PowerState(t.Context()); err != nil || state != "poweredOff" {
				t.Errorf("%s, %v", state, err)
			}
		}},
		{"api-version", "-api-version 7.0.3.2", func(t *testing.T, r *running) {
			if got := r.client(t).ServiceContent.About.ApiVersion; got != "7.0.3.2" {
				t.Errorf("reports %s", got)
			}
		}},
		{"esx", "-esx -vm 3", func(t *testing.T, r *running) {
			c := r.client(t)
			if c.IsVC() {
				t.Error("is a vCenter")
			}
			if n := list(t, c, "/ha-datacenter/vm/*"); n != 3 {
				t.Errorf("%d VMs", n)
			}
		}},
		{"tls", "-tls=false", func(t *testing.T, r *running) {
			if r.url.Scheme != "http" {
				t.Errorf("at %s", r.url)
			}
			c := r.client(t)
			if err := rest.NewClient(c.Client).Login(t.Context(), r.url.User); err != nil {
				t.Error(err)
			}
			if n := list(t, c, "/DC0/vm/*"); n != 4 {
				t.Errorf("%d VMs", n)
			}
		}},
		{"tlscert", "-tlscert " + crt + " -tlskey " + key, func(t *testing.T, r *running) {
			conn, err := new(tls.Dialer).DialContext(t.Context(), "tcp", r.url.Host)
			if err == nil {
				conn.Close()
				t.Fatal("a certificate of an unknown authority is trusted")
			}
			if !strings.Contains(err.Error(), "certificate") {
				t.Error(err)
			}
			d := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is what is tested
			if conn, err = d.DialContext(t.Context(), "tcp", r.url.Host); err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName; got != "own.example" {
				t.Errorf("shows %s", got)
			}
		}},
		{"username", "", func(t *testing.T, r *running) {
			if r.url.User.String() != "user:pass" {
				t.Errorf("announced %s", r.url.User)
			}
			r.url.User = url.UserPassword("somebody", "else")
			c := r.client(t) // every login is accepted
			if err := rest.NewClient(c.Client).Login(t.Context(), r.url.User); err != nil {
				t.Error(err)
			}
		}},
		{"username", "-username " + file("user", []byte("me\n")) + " -password " + file("password", []byte("secret\n")), func(t *testing.T, r *running) {
			if r.url.User.String() != "me:secret" {
				t.Errorf("announced %s", r.url.User)
			}
			r.client(t)
			r.url.User = url.UserPassword("me", "wrong")
			if _, err := govmomi.NewClient(t.Context(), r.url, true); err == nil {
				t.Error("another password is accepted")
			}
		}},
		{"password", "-username me -password p", func(t *testing.T, r *running) { r.client(t) }},
		{"tunnel", "-tunnel 0", func(t *testing.T, r *running) {
			port := r.url.Query().Get("GOVMOMI_TUNNEL_PROXY_PORT")
			via := http.Transport{
				Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port}),
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the proxy is what is tested
			}
			defer via.CloseIdleConnections()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://sdkTunnel:8089/sdk/vimServiceVersions.xml", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := via.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "urn:vim25") {
				t.Errorf("%s, %v", text, err)
			}
		}},
		{"trace", "-trace", func(t *testing.T, r *running) {
			r.client(t)
			r.end()
			if got := r.err.String(); !strings.Contains(got, "Request: <?xml") || !strings.Contains(got, "<LoginResponse") || strings.Contains(got, ">pass<") {
				t.Errorf("standard error has %.2000q", got)
			}
		}},
		{"trace-file", "-trace-file " + filepath.Join(dir, "trace"), func(t *testing.T, r *running) {
			r.client(t)
			if got, err := os.ReadFile(filepath.Join(dir, "trace")); err != nil || !strings.Contains(string(got), "<password>"+mask.Text+"</password>") {
				t.Errorf("%v; has %.2000q", err, got)
			}
		}},
		{"delay", "-delay 60", slower(60*time.Millisecond, "")},
		{"method-delay", "-method-delay CurrentTime:60,Destroy_Task:1", slower(60*time.Millisecond, "CurrentTime")},
		{"delay-jitter", "-delay 60 -delay-jitter 0.5", slower(30*time.Millisecond, "")},
	} {
		tested[tc.flag] = true
		t.Run(tc.flag, func(t *testing.T) {
			r := start(t, nil, strings.Fields(tc.args)...)
			tc.check(t, r)
			if got := r.end(); got != 0 {
				t.Errorf("exit status %d: %s", got, r.err)
			}
		})
	}
	t.Run("stdinexit", func(t *testing.T) {
		r := start(t, strings.NewReader("q"), "-stdinexit")
		if got := r.end(); got != 0 {
			t.Errorf("exit status %d", got)
		}
	})
	tested["stdinexit"], tested["tlskey"] = true, true
	for _, name := range stock() {
		if !tested[name] {
			t.Errorf("-%s is not tested", name)
		}
	}
}

// stock returns the flags of vcsim v0.56, sorted: those that its main function defines.
func stock() []string {
	return []string{
		"E", "api-version", "app", "autostart", "cluster", "dc", "delay", "delay-jitter", "ds", "esx", "folder", "host", "l", "load",
		"method-delay", "nsx", "password", "pg", "pg-nsx", "pod", "pool", "standalone-host", "stdinexit", "tls", "tlscert", "tlskey",
		"trace", "trace-file", "tunnel", "username", "vm",
	}
}

// The program has the flags of vcsim and no others, and the page has their number.
func TestFlagsOfVcsim(t *testing.T) {
	_, f := newProgram(&iostreams.Streams{Err: io.Discard})
	var all []string
	f.VisitAll(func(one *flag.Flag) { all = append(all, one.Name) }) // sorted
	if diff := cmp.Diff(stock(), all); diff != "" {
		t.Errorf("(-vcsim +ours):\n%s", diff)
	}
	page, err := os.ReadFile("../../../docs/grounds.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("all of vcsim's %d flags are supported", len(all)); !strings.Contains(string(page), want) {
		t.Errorf("docs/grounds.md does not say %q", want)
	}
	var shared []string // with "vcenter up", which has the others under other names
	for _, name := range all {
		if !slices.Contains([]string{"E", "l", "load", "password", "username"}, name) {
			shared = append(shared, name)
		}
	}
	names := Names()
	slices.Sort(names)
	if diff := cmp.Diff(shared, names); diff != "" {
		t.Errorf("of both programs (-flags +names):\n%s", diff)
	}
}

// slower checks that a call takes a time, with the others being quick if a method is given.
func slower(d time.Duration, method string) func(*testing.T, *running) {
	return func(t *testing.T, r *running) {
		c := r.client(t)
		begin := time.Now()
		if _, err := methods.GetCurrentTime(t.Context(), c.Client); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < d {
			t.Errorf("a call of %s takes %s, want %s", method, took, d)
		}
	}
}

// TestLoad: an inventory that object.save or "vcenter save" wrote.
func TestLoad(t *testing.T) {
	first := start(t, nil, "-vm", "1")
	dir := filepath.Join(t.TempDir(), "saved")
	if _, err := store.Save(t.Context(), first.client(t).Client, nil, dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := list(t, start(t, nil, "-load", dir).client(t), "/DC0/vm/*"); n != 2 {
		t.Errorf("%d VMs, want 2", n)
	}
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"-nope":                 {2, "flag provided but not defined: -nope"},
		"-h":                    {0, "Usage of vcsim:"},
		"-l foo":                {1, "missing port"},
		"-l 0.0.0.0:0":          {1, "want the one address"},
		"-l 192.0.2.1:0":        {1, "want -username and -password"},
		"-dc -1":                {1, "want 0 or more"},
		"-load /nope -l :0":     {1, "nope"},
		"-esx -load x -l :0":    {1, "-esx has no saved inventory"},
		"-tlscert x -l :0":      {1, "need each other"},
		"-E /nope/x -l :0":      {1, "no such file"},
		"-method-delay x -l :0": {1, "want METHOD:MILLISECONDS"},
	} {
		var errs bytes.Buffer
		got := Main(t.Context(), strings.Fields(args), &iostreams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
		if got != want.status || !strings.Contains(errs.String(), want.text) {
			t.Errorf("%s: exit status %d, %q; want %d, %q", args, got, errs.String(), want.status, want.text)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, command := range []string{"uuidgen", "version"} {
		var out bytes.Buffer
		if got := Main(t.Context(), []string{command}, &iostreams.Streams{Out: &out, Err: io.Discard}); got != 0 || out.Len() == 0 {
			t.Errorf("%s: %d, %q", command, got, &out)
		}
	}
	for name, want := range map[string]bool{"vcsim": true, "/usr/bin/vcsim": true, "vcsim.exe": true, "vsphere-sandbox": false, "xvcsim": false} {
		if IsName(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// TestCategories: a client makes the categories that it needs.
func TestCategories(t *testing.T) {
	r := start(t, nil)
	c := r.client(t)
	rc := rest.NewClient(c.Client)
	if err := rc.Login(t.Context(), r.url.User); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(rc)
	if all, err := m.ListCategories(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v: want none", all, err)
	}
	if _, err := m.CreateCategory(t.Context(), &tags.Category{Name: "k8s-region", Cardinality: "SINGLE"}); err != nil {
		t.Error(err)
	}
}
