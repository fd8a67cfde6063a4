package apis

import (
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	vim "github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"
	"github.com/vmware/govmomi/vsan/methods"
	"github.com/vmware/govmomi/vsan/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Vsan returns the objects of the vSAN API: the configuration of clusters, and stretched clusters. base is the context of the
// vCenter, where the tasks are: vcsim's panic, because they are about an object of the vSAN API. enabled reports whether vSAN and its
// file service are enabled in a cluster at first, by the cluster's reference.
func Vsan(base *simulator.Context, enabled func(cluster vim.ManagedObjectReference) (vsan, files bool)) *Clusters {
	r := simulator.NewRegistry()
	r.Namespace, r.Path = vsan.Namespace, vsan.Path
	c := &clusterConfig{ManagedObjectReference: vsan.VsanVcClusterConfigSystemInstance, base: base, enabled: enabled}
	r.Put(c)
	r.Put(&stretchedCluster{ManagedObjectReference: vsan.VsanVcStretchedClusterSystem, base: base})
	return &Clusters{Registry: r, config: c}
}

// Clusters is the registry of the vSAN API.
type Clusters struct {
	*simulator.Registry
	config *clusterConfig
}

// FileService reports whether the file service of a cluster is enabled.
func (c *Clusters) FileService(cluster vim.ManagedObjectReference) bool {
	of, fault := c.config.cluster(cluster)
	if fault != nil {
		return false
	}
	c.config.mu.Lock()
	defer c.config.mu.Unlock()
	files := c.config.of(of).FileServiceConfig
	return files != nil && files.Enabled
}

// clusterConfig has the vSAN configuration of the clusters.
type clusterConfig struct {
	vim.ManagedObjectReference

	base    *simulator.Context
	enabled func(vim.ManagedObjectReference) (vsan, files bool)

	mu  sync.Mutex
	all map[vim.ManagedObjectReference]*types.VsanConfigInfoEx
}

// of returns a cluster's configuration. The caller holds the lock.
func (c *clusterConfig) of(cluster *simulator.ClusterComputeResource) *types.VsanConfigInfoEx {
	info := c.all[cluster.Self]
	if info == nil {
		info = new(types.VsanConfigInfoEx)
		on, files := c.enabled(cluster.Self)
		info.Enabled = new(on)
		if files {
			info.FileServiceConfig = &types.VsanFileServiceConfig{Enabled: true}
		}
		info.DefaultConfig = &vim.VsanClusterConfigInfoHostDefaultInfo{Uuid: uuid.NewSHA1(uuid.NameSpaceOID, []byte(cluster.Self.Value)).String()}
		if c.all == nil {
			c.all = map[vim.ManagedObjectReference]*types.VsanConfigInfoEx{}
		}
		c.all[cluster.Self] = info
	}
	return info
}

func (c *clusterConfig) cluster(ref vim.ManagedObjectReference) (*simulator.ClusterComputeResource, *soap.Fault) {
	if cluster, ok := c.base.Map.Get(ref).(*simulator.ClusterComputeResource); ok {
		return cluster, nil
	}
	return nil, simulator.Fault("", &vim.ManagedObjectNotFound{Obj: ref})
}

// VsanClusterGetConfig returns the configuration of a cluster.
func (c *clusterConfig) VsanClusterGetConfig(_ *simulator.Context, req *types.VsanClusterGetConfig) soap.HasFault {
	cluster, fault := c.cluster(req.Cluster)
	if fault != nil {
		return &methods.VsanClusterGetConfigBody{Fault_: fault}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &methods.VsanClusterGetConfigBody{Res: &types.VsanClusterGetConfigResponse{Returnval: *c.of(cluster)}}
}

// VsanClusterReconfig changes the configuration of a cluster.
func (c *clusterConfig) VsanClusterReconfig(_ *simulator.Context, req *types.VsanClusterReconfig) soap.HasFault {
	cluster, fault := c.cluster(req.Cluster)
	if fault != nil {
		return &methods.VsanClusterReconfigBody{Fault_: fault}
	}
	task := simulator.CreateTask(cluster, "vsanClusterReconfig", func(*simulator.Task) (vim.AnyType, vim.BaseMethodFault) {
		c.mu.Lock()
		defer c.mu.Unlock()
		info, spec := c.of(cluster), &req.VsanReconfigSpec
		if spec.VsanClusterConfig != nil {
			if given := spec.VsanClusterConfig.GetVsanClusterConfigInfo(); given.Enabled != nil {
				info.Enabled = given.Enabled
			}
		}
		if spec.UnmapConfig != nil {
			info.UnmapConfig = spec.UnmapConfig
		}
		if spec.FileServiceConfig != nil {
			info.FileServiceConfig = spec.FileServiceConfig
		}
		return nil, nil
	})
	return &methods.VsanClusterReconfigBody{Res: &types.VsanClusterReconfigResponse{Returnval: task.Run(vc.Fresh(c.base))}}
}

// stretchedCluster makes stretched clusters.
type stretchedCluster struct {
	vim.ManagedObjectReference

	base *simulator.Context
}

// VSANVcConvertToStretchedCluster does nothing, as in vcsim, for a cluster that exists.
func (s *stretchedCluster) VSANVcConvertToStretchedCluster(_ *simulator.Context, req *types.VSANVcConvertToStretchedCluster) soap.HasFault {
	cluster, ok := s.base.Map.Get(req.Cluster).(*simulator.ClusterComputeResource)
	if !ok {
		return &methods.VSANVcConvertToStretchedClusterBody{Fault_: simulator.Fault("", &vim.ManagedObjectNotFound{Obj: req.Cluster})}
	}
	task := simulator.CreateTask(cluster, "convertToStretchedCluster", func(*simulator.Task) (vim.AnyType, vim.BaseMethodFault) { return nil, nil })
	return &methods.VSANVcConvertToStretchedClusterBody{
		Res: &types.VSANVcConvertToStretchedClusterResponse{Returnval: task.Run(vc.Fresh(s.base))},
	}
}
