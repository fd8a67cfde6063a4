package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// snapshots saves and restores the state of a sandbox.
type snapshots struct {
	s         *Sandbox
	busy      sync.Mutex // held while a snapshot is saved or restored
	authority *cert.CA   // of the vCenters' certificates
}

// register adds the handlers of the control API.
func (t *snapshots) register(mux *http.ServeMux) {
	mux.Handle("GET /v1/snapshots", control.Answer(func(context.Context) ([]api.Snapshot, error) { return t.s.opts.Snapshots.List() }))
	mux.Handle("POST /v1/snapshots", control.Request(func(ctx context.Context, r api.SaveRequest) (api.Snapshot, error) {
		row, err := t.save(ctx, r)
		return row, answer(err)
	}))
	mux.Handle("POST /v1/snapshots/restore", control.Request(func(ctx context.Context, r api.RestoreRequest) (api.Snapshot, error) {
		row, err := t.restore(context.WithoutCancel(ctx), r) // half a restore is of no use
		return row, answer(err)
	}))
}

// answer gives an error of package snapshot the form of the API.
func answer(err error) error {
	if c, ok := errors.AsType[*coded.Error](err); ok {
		return &api.Error{Code: c.Code, Message: c.Error(), Try: c.Try}
	}
	return err
}

// begin returns an error if the sandbox is in no state to be saved or restored. Else the caller calls release.
func (t *snapshots) begin(what string) (release func(), err error) {
	s := t.s
	if !t.able() {
		return nil, &api.Error{
			Code: "unsupported", Message: what + ": snapshots are for simulated vCenters with an embedded cluster: the state of other clusters and vCenters is not the sandbox's",
			Try: "vsphere-sandbox up   # the default ground\nvsphere-sandbox vcenter save DIR   # the inventory of a vCenter alone",
		}
	}
	if phase := s.boot.Phase(); phase != api.Ready {
		return nil, &api.Error{Code: "unavailable", Message: "the sandbox is " + string(phase), Try: "vsphere-sandbox wait --for=ready"}
	}
	if s.opts.Snapshots == "" {
		return nil, api.Conflict("this sandbox keeps no snapshots: a command boots it for as long as it runs")
	}
	if !t.busy.TryLock() {
		return nil, api.Conflict("a snapshot is being saved or restored already")
	}
	free, ok := s.desired.Hold()
	if !ok {
		t.busy.Unlock()
		return nil, api.Conflict("a topology is being applied")
	}
	return func() { free(); t.busy.Unlock() }, nil
}

// able reports whether the ground and the vCenters can be saved.
func (t *snapshots) able() bool {
	_, ok := t.s.ground.(ground.ObjectSaver)
	return ok && !slices.ContainsFunc(vcentersOf(t.s), func(vc *vcenters.VCenter) bool { return vc.Simulator() == nil })
}

// keepAddresses has the vCenters that are restored listen where those listen that run.
func (t *snapshots) keepAddresses() error {
	if s, ok := t.s.source.(interface{ KeepAddresses() error }); ok {
		return s.KeepAddresses()
	}
	return nil
}

// saver is the ground; it returns an error that able would have prevented.
func (t *snapshots) saver() (ground.ObjectSaver, error) {
	if g, ok := t.s.ground.(ground.ObjectSaver); ok {
		return g, nil
	}
	return nil, errors.New("the objects of this cluster cannot be saved")
}

// save saves a snapshot. The processes of the sandbox but the control plane are suspended during the save, so that both planes fit together.
func (t *snapshots) save(ctx context.Context, r api.SaveRequest) (_ api.Snapshot, err error) {
	s := t.s
	release, err := t.begin("snapshot save")
	if err != nil {
		return api.Snapshot{}, err
	}
	defer release()
	if err := t.noFaults(); err != nil {
		return api.Snapshot{}, err
	}
	begun := time.Now()
	w, err := s.opts.Snapshots.Create(r.Name, r.Replace)
	if err != nil {
		return api.Snapshot{}, err
	}
	defer func() { err = errors.Join(err, w.Discard()) }()
	top := s.desired.Topology()
	m := &snapshot.Manifest{
		Snapshot: api.Snapshot{
			Sandbox: s.opts.Name, SavedAt: begun.UTC(), Version: build.Version(), Kubernetes: s.opts.Cluster.Version(), Topology: top.Metadata.Name,
			Nodes: s.world.Count().Registered,
		},
		Speed: float64(s.opts.Speed), Settings: s.opts.Settings, Dir: s.opts.Dir.Path(), CSI: s.opts.CSI.Enabled,
	}
	if err := t.fill(ctx, w.Dir, top, m); err != nil {
		return api.Snapshot{}, fmt.Errorf("snapshot %q: %w", r.Name, err)
	}
	if err := w.Commit(m); err != nil {
		return api.Snapshot{}, err
	}
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "snapshot.saved", Message: fmt.Sprintf("snapshot %s is saved in %s", r.Name, time.Since(begun).Round(time.Millisecond)),
	})
	return m.Snapshot, nil
}

// noFaults refuses a sandbox with faults: what heals them is not saved.
func (t *snapshots) noFaults() error {
	active := 0
	for _, l := range t.s.faults.Rows() {
		if l.State != string(fault.Healed) {
			active++
		}
	}
	if active == 0 {
		return nil
	}
	return &api.Error{Code: "conflict", Message: fmt.Sprintf("%d faults are active, and a snapshot cannot have what heals them", active), Try: "vsphere-sandbox fault heal --all"}
}

// fill writes the files of a snapshot and completes the manifest.
func (t *snapshots) fill(ctx context.Context, dir string, top *topology.Topology, m *snapshot.Manifest) error {
	s := t.s
	all := vcentersOf(s)
	for _, sub := range []string{snapshot.PKI, snapshot.VCenters} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	defer t.freeze(ctx)()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		m.Objects, err = t.saveObjects(ctx, filepath.Join(dir, snapshot.Objects))
		return err
	})
	for _, vc := range all {
		g.Go(func() error {
			if err := saveVCenter(ctx, vc, filepath.Join(dir, snapshot.VCenters, url.PathEscape(vc.Name()))); err != nil {
				return fmt.Errorf("vcenter %q: %w", vc.Name(), err)
			}
			return nil
		})
	}
	g.Go(func() error { return s.nsx.Save(filepath.Join(dir, snapshot.NSX)) })
	g.Go(func() error { return disk.CopyTree(ctx, s.opts.Dir.Path("nodes"), filepath.Join(dir, snapshot.Nodes)) })
	if err := g.Wait(); err != nil {
		return err
	}
	// The topology of the vCenters has their order.
	for _, vc := range all {
		m.Addresses = append(m.Addresses, net.JoinHostPort(vc.Host(), strconv.Itoa(vc.Port())))
		m.VMs += vc.Simulator().VMs()
		m.Volumes += len(vc.Volumes())
	}
	_, port, err := net.SplitHostPort(s.cluster.Addr())
	if err != nil {
		return err
	}
	if m.APIPort, err = strconv.Atoi(port); err != nil {
		return err
	}
	ordered := *top
	ordered.Spec.VCenters = nil
	for _, vc := range all {
		i := slices.IndexFunc(top.Spec.VCenters, func(spec topology.VCenter) bool { return spec.Name == vc.Name() })
		ordered.Spec.VCenters = append(ordered.Spec.VCenters, top.Spec.VCenters[i])
	}
	text, err := topology.Marshal(&ordered)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, snapshot.Topology), text, 0o600), t.saveKeys(dir), t.saveEvents(filepath.Join(dir, snapshot.Events)))
}

// freeze suspends the processes that change the vCenters and volumes, and returns what resumes them.
func (t *snapshots) freeze(ctx context.Context) (thaw func()) {
	var pids []int
	var unfrozen []string
	if g, err := t.saver(); err == nil {
		unfrozen = g.Unfrozen()
	}
	for _, c := range t.s.components.All() {
		if c.PID > 0 && c.State == "running" && !slices.Contains(unfrozen, c.Name) && unix.Kill(c.PID, unix.SIGSTOP) == nil {
			pids = append(pids, c.PID)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, pid := range pids {
		child.AwaitStopped(ctx, pid)
	}
	return func() {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGCONT) // one that has ended needs it no more
		}
	}
}

func saveVCenter(ctx context.Context, vc *vcenters.VCenter, dir string) error {
	session, err := vc.Client.Session()
	if err != nil {
		return err
	}
	return vc.Client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		if err := os.RemoveAll(dir); err != nil { // of a first try
			return err
		}
		return vc.Simulator().Snapshot(ctx, session.Vim, rc, dir)
	})
}

func (t *snapshots) saveObjects(ctx context.Context, path string) (n int, err error) {
	c, err := t.saver()
	if err != nil {
		return 0, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = c.SaveObjects(ctx, f)
	return n, errors.Join(err, f.Close())
}

// keys are the files of the cluster's PKI that clients depend on. Certificates that they have signed are made again.
func keys() []string {
	return []string{"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key", "sa.pub"}
}

// The authority of the vCenters, in the same directory.
const authorityCert, authorityKey = "vcenter-ca.crt", "vcenter-ca.key"

func (t *snapshots) saveKeys(dir string) error {
	to := filepath.Join(dir, snapshot.PKI)
	for _, name := range keys() {
		if err := copyKey(t.s.opts.Dir.Path("pki", name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(to, authorityCert), t.authority.Cert, 0o600),
		os.WriteFile(filepath.Join(to, authorityKey), t.authority.Key, 0o600))
}

func copyKey(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// authorityOf returns the authority of the vCenters' certificates: the snapshot's, or a new one.
func (t *snapshots) authorityOf() (ca *cert.CA, err error) {
	if t.s.opts.From != nil {
		ca, err = t.readAuthority()
	} else {
		ca, err = cert.NewCA("vsphere-sandbox " + t.s.opts.Name + " vCenters")
	}
	t.authority = ca
	return ca, err
}

// readAuthority reads the authority of the vCenters of the snapshot.
func (t *snapshots) readAuthority() (*cert.CA, error) {
	dir := filepath.Join(t.s.opts.From.Path, snapshot.PKI)
	certificate, err := os.ReadFile(filepath.Join(dir, authorityCert))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, authorityKey))
	if err != nil {
		return nil, err
	}
	return cert.ReadCA(certificate, key)
}

func (t *snapshots) saveEvents(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(f)
	events, _ := t.s.log.Read(0, 0)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// open reads and verifies the snapshot of a request.
func (t *snapshots) open(r api.RestoreRequest) (m *snapshot.Manifest, err error) {
	if r.Path != "" {
		m, err = snapshot.Read(r.Path)
	} else {
		m, err = t.s.opts.Snapshots.Open(r.Name)
	}
	if err != nil {
		return nil, err
	}
	if err := m.CheckKubernetes(t.s.opts.Cluster.Version()); err != nil {
		return nil, err
	}
	return m, m.Verify()
}

// restore gives the running sandbox the state of a snapshot. The control plane keeps running: clients see one step of changes.
func (t *snapshots) restore(ctx context.Context, r api.RestoreRequest) (api.Snapshot, error) {
	s := t.s
	release, err := t.begin("snapshot restore")
	if err != nil {
		return api.Snapshot{}, err
	}
	defer release()
	begun := time.Now()
	m, err := t.open(r)
	if err != nil {
		return api.Snapshot{}, err
	}
	top, err := topology.LoadFile(filepath.Join(m.Path, snapshot.Topology))
	if err != nil {
		return api.Snapshot{}, err
	}
	if err := t.fits(m, top); err != nil {
		return api.Snapshot{}, err
	}
	seq := s.log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "command.snapshot-restore", Message: "restore snapshot " + m.Name + " of " + m.SavedAt.Format(time.RFC3339)})
	if err := s.faults.End(ctx); err != nil {
		return api.Snapshot{}, fmt.Errorf("heal: %w", err)
	}
	if err := t.keepAddresses(); err != nil {
		return api.Snapshot{}, err
	}
	s.opts.From, s.opts.Topology = m, top
	steps := t.steps()
	if err := s.boot.Restart(ctx, steps, func(ctx context.Context) error { return t.exchange(ctx, top) }); err != nil {
		err = fmt.Errorf("snapshot %q was restored in part, and the sandbox stops: %w", m.Name, err)
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Error, Kind: "snapshot.failed", Message: err.Error(), Cause: seq})
		t.fail(err)
		return api.Snapshot{}, &api.Error{Code: "failed", Message: err.Error(), Try: "vsphere-sandbox up --from " + m.Path}
	}
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "snapshot.restored", Message: fmt.Sprintf("snapshot %s is restored in %s", m.Name, time.Since(begun).Round(time.Millisecond)), Cause: seq,
	})
	return m.Snapshot, nil
}

// fail stops the sandbox, and has [Sandbox.Run] return err.
func (t *snapshots) fail(err error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.broken = err
	askStop(t.s)
}

// fits refuses a snapshot that takes other processes or listeners than the sandbox has, and one of another cluster: the components of
// this one have tokens that another would not accept.
func (t *snapshots) fits(m *snapshot.Manifest, top *topology.Topology) error {
	all := vcentersOf(t.s)
	same := len(all) == len(top.Spec.VCenters) && m.CSI == t.s.opts.CSI.Enabled
	for i := 0; same && i < len(all); i++ {
		same = all[i].Name() == top.Spec.VCenters[i].Name
	}
	what := "has other vCenters, or another choice of a CSI driver, than this sandbox"
	if same {
		theirs, err := os.ReadFile(filepath.Join(m.Path, snapshot.PKI, keys()[0]))
		if err != nil {
			return err
		}
		ours, err := os.ReadFile(t.s.opts.Dir.Path("pki", keys()[0]))
		if err != nil {
			return err
		}
		if bytes.Equal(theirs, ours) {
			return nil
		}
		what = "is of another cluster than this sandbox"
	}
	return &api.Error{
		Code:    snapshot.CodeOther,
		Message: fmt.Sprintf("snapshot %q %s", m.Name, what),
		Try:     "vsphere-sandbox up --name " + m.Name + " --from " + m.Path,
	}
}

// steps are the boot steps that a restore takes: all but those of the sandbox itself and of the control plane, whose objects are
// exchanged.
func (t *snapshots) steps() []step {
	all := t.s.steps()
	first := slices.IndexFunc(all, func(st step) bool { return st.Name == "vCenters" })
	steps := slices.Clone(all[first:])
	for i := range steps {
		if steps[i].Name == "API server" {
			steps[i] = step{Name: "objects", Start: t.restoreObjects}
			if steps[i-1].Name == supervisorStep { // its controllers act on what is restored
				steps[i-1], steps[i] = steps[i], steps[i-1]
			}
		}
	}
	return steps
}

// exchange replaces the files of the vCenters and nodes, and resets the parts, which have been stopped.
func (t *snapshots) exchange(ctx context.Context, top *topology.Topology) error {
	s := t.s
	s.mu.Lock()
	s.world, s.vcenters = nil, nil // requests are refused until there are others
	s.mu.Unlock()
	for _, dir := range []string{sim.StateDir(s.opts.Dir.Path()), s.opts.Dir.Path("nodes")} {
		if err := disk.RemoveAll(dir); err != nil {
			return err
		}
	}
	s.background.Reopen()
	s.nodes.Reset()
	s.storage.Reset()
	s.watchCache.Reset()
	s.services.Reset()
	s.desired.Reset(top)
	s.nodes.Assign(top, nil)
	s.csi.Topology = top
	return t.unpackNodes(ctx)
}

// unpack puts the files of the snapshot into the directory of a sandbox that boots from it.
func (t *snapshots) unpack(ctx context.Context) error {
	dir := t.s.opts.Dir.Path("pki")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range keys() {
		if err := copyKey(filepath.Join(t.s.opts.From.Path, snapshot.PKI, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return t.unpackNodes(ctx)
}

// unpackNodes copies the directories of nodes. What leads into the directory of the sandbox that was saved leads into this one's.
func (t *snapshots) unpackNodes(ctx context.Context) error {
	from, to := t.s.opts.From, t.s.opts.Dir.Path("nodes")
	if err := disk.CopyTree(ctx, filepath.Join(from.Path, snapshot.Nodes), to); err != nil {
		return err
	}
	return snapshot.Relocate(to, from.Dir, t.s.opts.Dir.Path())
}

// restoreObjects restores the objects of the API server.
func (t *snapshots) restoreObjects(ctx context.Context) error {
	c, err := t.saver()
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(t.s.opts.From.Path, snapshot.Objects))
	if err != nil {
		return err
	}
	defer f.Close()
	return c.RestoreObjects(ctx, f)
}

// remember gives the event log the events of the snapshot.
func (t *snapshots) remember() {
	f, err := os.Open(filepath.Join(t.s.opts.From.Path, snapshot.Events))
	if err != nil {
		return // a log is of no use to anything but the user
	}
	defer f.Close()
	seqs := map[uint64]uint64{}
	for d := json.NewDecoder(f); ; {
		var e event.Event
		if d.Decode(&e) != nil {
			return
		}
		old := e.Seq
		e.Cause = seqs[e.Cause]
		seqs[old] = t.s.log.Append(e)
	}
}
