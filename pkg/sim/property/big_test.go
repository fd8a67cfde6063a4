package property_test

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// newBig builds a vCenter of one cluster with many VMs, in a fraction of the
// time that vcsim's model takes, and serves it over TLS.
func newBig(t testing.TB, ours bool, vms int) *vcenter {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // each VM is six files
	}
	m := simulator.VPX()
	m.Autostart = false
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, 1, 4, 0
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.Listen = &url.URL{Host: "127.0.0.1:0"}
	m.Service.TLS = new(tls.Config)
	v := &vcenter{Context: m.Service.Context, model: m}
	if ours {
		s, err := property.Install(v.Context, property.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v.service = s
	}
	v.grow(t, vms)
	server := m.Service.NewServer()
	v.url = server.URL
	t.Cleanup(func() {
		if v.service != nil {
			v.service.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	return v
}

// grow creates VMs, by several goroutines, without clients.
func (v *vcenter) grow(t testing.TB, vms int) {
	t.Helper()
	const builders = 16
	folder := v.Map.Get(v.Map.Any("Datacenter").(*simulator.Datacenter).VmFolder).(*simulator.Folder)
	pool := v.Map.Any("ResourcePool").Reference()
	hosts := v.Map.All("HostSystem")
	base := len(folder.ChildEntity)
	todo := make(chan int)
	var work sync.WaitGroup
	for range builders {
		work.Go(func() {
			for i := range todo {
				host := hosts[i%len(hosts)].Reference()
				ctx := v.call()
				var body *methods.CreateVM_TaskBody
				ctx.WithLock(folder, func() {
					body = folder.CreateVMTask(ctx, &types.CreateVM_Task{
						This: folder.Self, Pool: pool, Host: &host,
						Config: types.VirtualMachineConfigSpec{
							Name:  fmt.Sprintf("vm-%06d", base+i),
							Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
						},
					}).(*methods.CreateVM_TaskBody)
				})
				task := ctx.Map.Get(body.Res.Returnval).(*simulator.Task)
				task.Wait()
				if task.Info.Error != nil {
					t.Errorf("VM %d: %T", i, task.Info.Error.Fault)
				}
			}
		})
	}
	for i := range vms {
		todo <- i
	}
	close(todo)
	work.Wait()
}
