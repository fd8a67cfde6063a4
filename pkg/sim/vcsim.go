package sim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Vcsim holds what vcsim's command line sets and a topology does not. It affects every vCenter of the simulation. The zero value
// changes nothing.
type Vcsim struct {
	// Pods, NSXPortGroups and OpaqueNetworks are numbers for each datacenter: of storage pods, and of networks of NSX as port
	// groups of the datacenter's first distributed switch and as opaque networks. An opaque network has a port group beside it.
	Pods, NSXPortGroups, OpaqueNetworks int
	// Folders is the number of datacenters, the last ones, whose hosts, networks and datastores are in a folder named after the
	// datacenter's. The topology has the folders of datacenters and VMs.
	Folders int
	// APIVersion replaces the API version of the release.
	APIVersion string
	// PlainHTTP serves HTTP in place of HTTPS.
	PlainHTTP bool
	// Certificate replaces the signed certificate.
	Certificate *tls.Certificate
	// AnyLogin accepts every user name and password, as the administrator's.
	AnyLogin bool
	// Exposed says that clients may be on other machines: refused logins are answered more and more slowly.
	Exposed bool
	// Delay is the time that each SOAP call takes longer, MethodDelay those of methods, and Jitter its variation as a part of the
	// delay.
	Delay       time.Duration
	MethodDelay map[string]time.Duration
	Jitter      float64
	// Trace gets the SOAP requests and answers, with passwords and session cookies masked. Calls write to it one after the other.
	// Its errors are ignored.
	Trace io.Writer
	// Tunnel is the port of an HTTP proxy for logins with a client certificate, on the vCenter's address; 0 means any. Nil: none.
	Tunnel *int
}

// scheme is that of the vCenters' URLs.
func (o *Vcsim) scheme() string {
	if o.PlainHTTP {
		return "http"
	}
	return "https"
}

// extend adds the objects that no topology describes to a built inventory.
func (v *VCenter) extend(ctx context.Context, o *Vcsim) error {
	if o.Pods == 0 && o.NSXPortGroups == 0 && o.OpaqueNetworks == 0 && o.Folders == 0 {
		return nil
	}
	base := vc.Fresh(v.service.ctx)
	for i := range v.spec.Datacenters {
		spec := &v.spec.Datacenters[i]
		var dc *simulator.Datacenter
		for _, e := range base.Map.All("Datacenter") {
			if e.Entity().Name == spec.Name {
				dc = e.(*simulator.Datacenter)
			}
		}
		if dc == nil {
			return fmt.Errorf("no datacenter %s", spec.Name)
		}
		if err := errors.Join(v.pods(base, dc, o.Pods), v.nsx(base, dc, o)); err != nil {
			return fmt.Errorf("datacenter %s: %w", spec.Name, err)
		}
		if n := i - (len(v.spec.Datacenters) - o.Folders); n >= 0 && o.Folders > 0 {
			if err := v.nest(base, dc, fmt.Sprintf("F%d", n)); err != nil {
				return fmt.Errorf("datacenter %s: folders: %w", spec.Name, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// pods adds storage pods.
func (v *VCenter) pods(ctx *simulator.Context, dc *simulator.Datacenter, n int) error {
	folder, ok := ctx.Map.Get(dc.DatastoreFolder).(*simulator.Folder)
	for i := range n {
		if !ok {
			return errors.New("no datastore folder")
		}
		answer := folder.CreateStoragePod(ctx, &types.CreateStoragePod{This: folder.Self, Name: fmt.Sprintf("%s_POD%d", dc.Name, i)})
		if err := vc.Err(answer); err != nil {
			return err
		}
	}
	return nil
}

// nsx adds networks of NSX.
func (v *VCenter) nsx(ctx *simulator.Context, dc *simulator.Datacenter, o *Vcsim) error {
	if o.NSXPortGroups+o.OpaqueNetworks == 0 {
		return nil
	}
	folder, ok := ctx.Map.Get(dc.NetworkFolder).(*simulator.Folder)
	if !ok {
		return errors.New("no network folder")
	}
	var dvs *simulator.DistributedVirtualSwitch
	for _, ref := range folder.ChildEntity {
		if s, ok := ctx.Map.Get(ref).(*simulator.DistributedVirtualSwitch); ok && dvs == nil {
			dvs = s
		}
	}
	if dvs == nil {
		return errors.New("no distributed switch")
	}
	for i := range o.NSXPortGroups + o.OpaqueNetworks {
		group := types.DVPortgroupConfigSpec{
			Name:        fmt.Sprintf("%s_NSXPG%d", dc.Name, i),
			Type:        string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
			BackingType: string(types.DistributedVirtualPortgroupBackingTypeNsx),
		}
		if n := i - o.NSXPortGroups; n >= 0 {
			group.LogicalSwitchUuid = uuid.NewSHA1(uuid.NameSpaceOID, []byte(v.spec.InstanceUUID+"/"+group.Name)).String()
			summary := types.OpaqueNetworkSummary{OpaqueNetworkId: group.LogicalSwitchUuid}
			summary.Name = fmt.Sprintf("%s_NSX%d", dc.Name, n)
			if err := folder.AddOpaqueNetwork(ctx, summary); err != nil {
				return err
			}
		}
		var task vc.Ref
		ctx.WithLock(dvs, func() {
			answer := dvs.AddDVPortgroupTask(ctx, &types.AddDVPortgroup_Task{This: dvs.Self, Spec: []types.DVPortgroupConfigSpec{group}})
			task = answer.(*methods.AddDVPortgroup_TaskBody).Res.Returnval
		})
		if _, err := vc.Wait(ctx, task); err != nil {
			return err
		}
	}
	return nil
}

// nest moves the hosts, networks and datastores of a datacenter into folders.
func (v *VCenter) nest(ctx *simulator.Context, dc *simulator.Datacenter, name string) error {
	for _, root := range []vc.Ref{dc.HostFolder, dc.NetworkFolder, dc.DatastoreFolder} {
		folder, ok := ctx.Map.Get(root).(*simulator.Folder)
		if !ok {
			return fmt.Errorf("no folder %s", root)
		}
		var children []vc.Ref
		for _, ref := range folder.ChildEntity {
			if ref.Type != "StoragePod" && ref != dc.Network[0] { // vcsim's own are at the top
				children = append(children, ref)
			}
		}
		made := folder.CreateFolder(ctx, &types.CreateFolder{This: root, Name: name})
		if err := vc.Err(made); err != nil {
			return err
		}
		sub, ok := ctx.Map.Get(made.(*methods.CreateFolderBody).Res.Returnval).(*simulator.Folder)
		if !ok || len(children) == 0 {
			continue
		}
		// Nothing watches yet, and MoveIntoFolder_Task of vcsim takes no port groups.
		ctx.WithLock(folder, func() {
			folder.ChildEntity = slices.DeleteFunc(folder.ChildEntity, func(ref vc.Ref) bool { return slices.Contains(children, ref) })
		})
		ctx.WithLock(sub, func() { sub.ChildEntity = append(sub.ChildEntity, children...) })
		for _, ref := range children {
			if e, ok := ctx.Map.Get(ref).(mo.Entity); ok {
				ctx.WithLock(e, func() { e.Entity().Parent = &sub.Self })
			}
		}
	}
	return nil
}

// delay makes calls take longer, by rules of the gate.
func (v *VCenter) delay(o *Vcsim) error {
	add := func(name string, d time.Duration, methods ...string) error {
		if d <= 0 {
			return nil
		}
		_, err := v.gate.Add(gate.Rule{
			Name: name, Match: gate.Match{Transport: gate.SOAP, Methods: methods},
			Action: gate.Latency{Delay: d, Jitter: time.Duration(o.Jitter * float64(d))},
		})
		return err
	}
	err := add("delay", o.Delay)
	for method, d := range o.MethodDelay {
		err = errors.Join(err, add("delay of "+method, d, method))
	}
	return err
}

// openTunnel opens the HTTP proxy. It connects every client to the vCenter, and ignores the address that the client asks for.
func (v *VCenter) openTunnel(ctx context.Context) error {
	if v.vcsim.Tunnel == nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(v.Host(), strconv.Itoa(*v.vcsim.Tunnel)))
	if err != nil {
		return fmt.Errorf("tunnel: %w", err)
	}
	v.vcsim.Tunnel = new(l.Addr().(*net.TCPAddr).Port)
	v.tunnel = &http.Server{Handler: http.HandlerFunc(v.connect), ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = v.tunnel.Serve(l) }() // until Close
	return nil
}

// Tunnel returns the port of the HTTP proxy, 0 without one.
func (v *VCenter) Tunnel() int {
	if v.vcsim.Tunnel == nil {
		return 0
	}
	return *v.vcsim.Tunnel
}

// connect serves a CONNECT request until either side ends.
func (v *VCenter) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	to, err := new(net.Dialer).DialContext(r.Context(), "tcp", v.Addr())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	done := make(chan struct{}, 2)
	pipe := func(dst net.Conn, src io.Reader) {
		_, _ = io.Copy(dst, src)
		done <- struct{}{}
	}
	go pipe(to, buffered)
	go pipe(from, to)
	select {
	case <-done:
	case <-v.closing:
	}
	_, _ = to.Close(), from.Close()
}
