package front_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/front"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Flags of a long run: make fuzz-guard.
var (
	fuzzRequests = flag.Int("requests", 3000, "how many mutated requests are sent, at least, in both modes together")
	fuzzMinutes  = flag.Float64("minutes", 0, "how long requests are sent, at least, in both modes together")
	fuzzSeed     = flag.Uint64("seed", 1, "what the mutations are drawn by")
)

// senders is how many connections there are at once.
const senders = 4

// counting is a guard that counts what another one does.
type counting struct {
	front.Guard
	passed, refused atomic.Int64
	ended           atomic.Bool // a session was logged out
}

func (c *counting) Pass(r *http.Request, body []byte, forward func(*http.Request) error) error {
	err := c.Guard.Pass(r, body, func(out *http.Request) error {
		c.passed.Add(1)
		if strings.HasSuffix(out.URL.Path, "/session") && out.Method == http.MethodDelete || strings.Contains(string(body), "Logout") {
			c.ended.Store(true)
		}
		return forward(out)
	})
	if refusal := (*guard.Refusal)(nil); errors.As(err, &refusal) {
		c.refused.Add(1)
	}
	return err
}

// fuzzer sends mutated requests to a front.
type fuzzer struct {
	rig   *rig
	guard *counting

	mu       sync.Mutex
	session  string // headers
	rounds   int
	dead     int // of them, at whose end the session was over
	outcomes map[string]int
	recent   []string // what was sent lately, to look for a culprit
}

// TestFuzz mutates what clients send, and what writes, and sends it through the front: the vCenter is afterwards what it was,
// but for the VM that may be written to. `make fuzz-guard` runs it for ten minutes.
func TestFuzz(t *testing.T) {
	quiet(t)
	if race.Enabled {
		t.Skip("vcsim's own tasks race where VMs are cloned; see package race")
	}
	for _, tc := range []struct {
		name  string
		scope scope.Scope
	}{
		{"read-only", scope.Scope{}},
		{"in a folder", scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm/k8s"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := simulated(t, tc.scope)
			inside := r.apart(t)
			samples, reads := r.record(t)
			f := &fuzzer{rig: r, guard: &counting{Guard: &guard.Guard{Scope: r.scope, Journal: r.journal, Connection: r.direct}}, outcomes: map[string]int{}}
			r.front = r.guarded(t, r.direct.VCenter, f.guard, nil)
			may := func(string) bool { return false }
			if tc.scope.AllowWrites {
				may = of(inside.Reference(), inside.Name)
			}
			m := r.mutators(t, samples)

			// What clients read passes as they sent it.
			f.login(t)
			for _, s := range samples[:reads] {
				s := s.clone()
				if status := f.send(t, newLine(t, r.front.Addr()), s); f.guard.refused.Load() > 0 || status == "" {
					t.Fatalf("%s %s %s: %s", s.method, s.target, s.body, status)
				}
			}

			f.guard.passed.Store(0)
			before := r.everything(t)
			began, sent := time.Now(), 0
			for sent < *fuzzRequests/2 || time.Since(began).Minutes() < *fuzzMinutes/2 {
				const round = 1500
				f.round(t, m, sent, round)
				sent += round
				after := r.everything(t)
				if list := changes(before, after, may); len(list) > 0 {
					t.Fatalf("after %d requests:\n%s\nlately sent:\n%s", sent, strings.Join(list, "\n"), strings.Join(f.recent, "\n"))
				}
			}
			f.report(t, sent, time.Since(began))

			if tc.scope.AllowWrites {
				if len(r.journal.Pending()) == 0 {
					t.Error("nothing was written that may be: the run shows little")
				}
				err := guard.Revert(t.Context(), r.journal, r.scope, map[string]*vcenter.Connection{"far": r.direct})
				after := r.everything(t)
				for _, p := range []string{" name", " parent"} {
					if key := inside.Reference().String() + p; before[key] != after[key] {
						t.Errorf("taken back: %s is %s, was %s", key, after[key], before[key])
					}
				}
				if err != nil || len(r.journal.Pending()) > 0 {
					t.Errorf("taken back: %v, %d left", err, len(r.journal.Pending()))
				}
			}
		})
	}
}

// quiet keeps vcsim's complaints about mutated requests out of the test's output.
func quiet(t *testing.T) {
	was := log.Writer()
	log.SetOutput(io.Discard)
	t.Cleanup(func() { log.SetOutput(was) })
}

// TestFuzzSees sends what was recorded to a front that lets everything through: the comparison has to see it.
func TestFuzzSees(t *testing.T) {
	quiet(t)
	if race.Enabled {
		t.Skip("as TestFuzz")
	}
	r := simulated(t, scope.Scope{})
	r.apart(t)
	samples, reads := r.record(t)
	f := &fuzzer{rig: r, guard: &counting{Guard: &recorder{}}, outcomes: map[string]int{}}
	r.front = r.guarded(t, r.direct.VCenter, f.guard, nil)
	f.login(t)
	before := r.everything(t)
	if list := changes(before, r.everything(t), func(string) bool { return false }); len(list) > 0 {
		t.Fatalf("a look at it changes it: %s", list)
	}
	for _, s := range samples[reads:] {
		f.send(t, newLine(t, r.front.Addr()), s)
	}
	seen := map[string]bool{}
	for _, c := range changes(before, r.everything(t), func(string) bool { return false }) {
		seen[strings.FieldsFunc(c, func(c rune) bool { return c == ' ' || c == ':' })[0]] = true
	}
	for _, kind := range []string{"VirtualMachine", "Folder", "ResourcePool", "file", "category", "tag", "library", "roles", "volume"} {
		if !seen[kind] {
			t.Errorf("no change of a %s is seen: %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// lab is the vCenter behind the front: one of ours, because stock vcsim keeps the lock of an object for ever whose method
// panics, which mutated arguments bring about.
const lab = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: lab}
spec:
  vcenters:
    - name: far
      users: [{name: reader@vsphere.local, password: "secret of reader"}]
      datacenters:
        - name: DC0
          hosts: [{name: h1}]
          datastores: [{name: LocalDS_0}]
          vms: [{name: vm-1, role: worker}, {name: vm-2, role: worker}, {name: vm-3, role: worker}]
`

// simulated is a rig on the lab.
func simulated(t *testing.T, s scope.Scope) *rig {
	t.Helper()
	v, ok := sim.Start(t, lab).VCenter("far")
	if !ok {
		t.Fatal("no vCenter")
	}
	return before(t, v.Addr(), url.UserPassword(v.User(), v.Password()), s)
}

// apart moves the first VM into a folder where it is alone, past the front.
func (r *rig) apart(t *testing.T) (vm mo.VirtualMachine) {
	t.Helper()
	err := r.direct.Do(t.Context(), func(ctx context.Context, vim *vim25.Client) error {
		all := vms(t, vim)
		folder, err := find.NewFinder(vim).Folder(ctx, "/DC0/vm")
		if err != nil {
			return err
		}
		if folder, err = folder.CreateFolder(ctx, "k8s"); err != nil {
			return err
		}
		if err := do(t)(folder.MoveInto(ctx, []types.ManagedObjectReference{all[0].Reference()})); err != nil {
			return err
		}
		return all[0].Properties(ctx, all[0].Reference(), []string{"name"}, &vm)
	})
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// mutators are as many as there are senders.
func (r *rig) mutators(t *testing.T, samples []sample) (all []*mutator) {
	t.Helper()
	var entities []types.ManagedObjectReference
	for key := range r.everything(t) {
		var ref types.ManagedObjectReference
		if ref.FromString(key) && !strings.Contains(key, " ") {
			entities = append(entities, ref)
		}
	}
	slices.SortFunc(entities, func(a, b types.ManagedObjectReference) int { return strings.Compare(a.String(), b.String()) })
	samples = append(slices.Clone(samples), built(entities)...)
	var objects []string
	for _, ref := range entities {
		objects = append(objects, fmt.Sprintf("type=%q>%s<", ref.Type, ref.Value))
	}
	data, err := os.ReadFile("../guard/testdata/methods.txt")
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for line := range strings.Lines(string(data)) {
		// A wait without its argument would hold a sender up.
		if name := strings.Fields(line)[1]; !strings.HasPrefix(name, "WaitForUpdates") {
			methods = append(methods, name)
		}
	}
	vm := entities[slices.IndexFunc(entities, func(ref types.ManagedObjectReference) bool { return ref.Type == "VirtualMachine" })].Value
	targets := []string{
		"/folder/fuzzed.xml?dcPath=DC0&dsName=LocalDS_0", "/folder/fuzzed/x.vmdk?dsName=LocalDS_0&dcPath=DC0", "/folder/?dcPath=DC0&dsName=LocalDS_0", "/guestFile?id=1&token=x",
		"/nfc/x/disk-0.vmdk", "/mob", "/mob/?moid=" + vm + "&method=destroy", "/ui", "/sdk/vim25/8.0.3.0/VirtualMachine/" + vm + "/PowerOffVM_Task", "/sdk/vim25/8.0.3.0/VirtualMachine/" + vm + "/Destroy_Task",
		"/rest/vcenter/vm/" + vm + "/power/stop", "/api/vcenter/vm/" + vm + "/power?action=stop", "/api/vcenter/vm/" + vm, "/rest/vcenter/vm/" + vm, "/rest/com/vmware/cis/tagging/category",
		"/rest/com/vmware/cis/tagging/tag", "/api/cis/tagging/category", "/rest/com/vmware/content/local-library", "/rest/vcenter/cluster/modules", "/cls/data", "/eam/sdk", "/sms/sdk", "/invsvc", "*", "/",
	}
	for i := range senders {
		all = append(all, &mutator{Rand: rand.New(rand.NewPCG(*fuzzSeed, uint64(i))), samples: samples, objects: objects, methods: methods, targets: targets})
	}
	return all
}

func (f *fuzzer) login(t *testing.T) {
	l := f.rig.loginsAt(t, f.rig.direct.VCenter.Address())
	f.session = "Cookie: " + l.cookie + "\r\nVmware-Api-Session-Id: " + l.rest + "\r\nUser-Agent: fuzzer\r\n"
}

// round sends so many requests, over all connections.
func (f *fuzzer) round(t *testing.T, mutators []*mutator, from, n int) {
	t.Helper()
	f.recent, f.rounds = nil, f.rounds+1
	f.login(t) // a mutated login may have ended what there was
	var wg sync.WaitGroup
	for _, m := range mutators {
		wg.Go(func() {
			l := newLine(t, f.rig.front.Addr())
			defer l.close()
			for range n / len(mutators) {
				s := m.next()
				outcome := f.send(t, l, s)
				f.mu.Lock()
				f.outcomes[outcome]++
				f.recent = append(f.recent, fmt.Sprintf("%s: %.1500q", outcome, s.wire("")))
				if f.guard.ended.CompareAndSwap(true, false) {
					f.login(t)
				}
				f.mu.Unlock()
			}
		})
	}
	wg.Wait()
	probe := envelope(`<RetrievePropertiesEx xmlns="urn:vim25"><_this type="PropertyCollector">propertyCollector</_this><specSet><propSet><type>Folder</type><pathSet>name</pathSet></propSet>` +
		`<objectSet><obj type="Folder">group-d1</obj></objectSet></specSet><options/></RetrievePropertiesEx>`)
	alive := f.send(t, newLine(t, f.rig.front.Addr()), sample{method: "POST", target: "/sdk", headers: [][2]string{{"Content-Type", "text/xml"}}, body: []byte(probe)})
	if alive != "200" {
		f.dead++
	}
}

// send sends a request, and returns how it was answered: the status, and of a refusal the reason.
func (f *fuzzer) send(t *testing.T, l *line, s sample) string {
	f.mu.Lock()
	session := f.session
	f.mu.Unlock()
	data, odd := s.wire(session), false
	if s.raw != nil {
		first, rest, _ := strings.Cut(string(s.raw), "\r\n")
		data, odd = []byte(first+"\r\n"+session+rest), true
	}
	return l.send(data, s.method, odd || s.header("Transfer-Encoding")+s.header("Content-Length")+s.header("Connection")+s.header("Upgrade") != "")
}

// report says what became of the requests.
func (f *fuzzer) report(t *testing.T, sent int, took time.Duration) {
	t.Helper()
	passed, refused := f.guard.passed.Load(), f.guard.refused.Load()
	t.Logf("%d requests in %s (some hold two): %d passed the guard, %d were refused by it; %d distinct outcomes; %d of %d rounds ended without a session; nothing changed",
		sent, took.Round(time.Second), passed, refused, len(f.outcomes), f.dead, f.rounds)
	keys := slices.SortedFunc(maps.Keys(f.outcomes), func(a, b string) int { return f.outcomes[b] - f.outcomes[a] })
	for _, k := range keys[:min(len(keys), 40)] {
		t.Logf("%7d %s", f.outcomes[k], k)
	}
	if f.dead > f.rounds/2 {
		t.Errorf("%d of %d rounds ended without a session: most requests were a stranger's", f.dead, f.rounds)
	}
	if passed < int64(sent)/50 || refused < int64(sent)/4 {
		t.Errorf("%d passed and %d were refused of %d: the mutations are too wild or too tame", passed, refused, sent)
	}
}

// line is a connection to the front, opened again when it is cut.
type line struct {
	t       *testing.T
	address string
	conn    *tls.Conn
	reader  *bufio.Reader
}

func newLine(t *testing.T, address string) *line { return &line{t: t, address: address} }

func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}

// send writes bytes and reads one answer. last says that nothing is sent after it on this connection.
func (l *line) send(data []byte, method string, last bool) string {
	if l.conn == nil {
		conn, err := tls.Dial("tcp", l.address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return "no connection"
		}
		l.conn, l.reader = conn, bufio.NewReader(conn)
	}
	limit := 20 * time.Second // a sender is slow where the machine is
	if last {
		limit = time.Second // it may wait for more than was sent
	}
	if err := l.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return "no connection"
	}
	if _, err := l.conn.Write(data); err != nil {
		l.close()
		return "cut"
	}
	for {
		res, err := http.ReadResponse(l.reader, &http.Request{Method: method})
		if err != nil {
			l.close()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return "no answer"
			}
			return "cut"
		}
		if res.StatusCode == http.StatusContinue {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil || last || res.Close || method == "HEAD" || method == "CONNECT" {
			l.close()
		}
		reason := ""
		if why := refusedAt.FindSubmatch(text); why != nil {
			reason = " " + quotesAt.ReplaceAllString(string(why[1]), "…")
		}
		return fmt.Sprint(res.StatusCode) + reason
	}
}

var (
	refusedAt = regexp.MustCompile(`refused: (.*?); try`)
	quotesAt  = regexp.MustCompile(`\\?(&#34;|").*?(&#34;|")|/\S+|\d+|VirtualMachine:\S+`)
)
