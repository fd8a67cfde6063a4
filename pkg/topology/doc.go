// Package topology is the desired inventory of a sandbox, written in YAML: named vCenters with datacenters, compute
// clusters, hosts, datastores, networks and VMs, and the regions and zones they lie in.
//
// [Load] reads such a file strictly: unknown and repeated keys, wrong types, names that collide, references to nothing
// and values no vCenter would take are all reported at once as [Errors], each with its line, its field path and, where
// one is near, the name that was probably meant. What it returns is resolved: replica groups are expanded, defaults
// filled in, every VM is placed on a host and a datastore, and every identity (UUIDs, MAC and IP addresses) is derived
// from the topology's seed and the object's path, so that the same file is the same inventory on every machine.
// [Marshal] writes a resolved topology back as a file that loads to itself.
//
// A file may include others and have parameters (see [Preamble]): [LoadFile] and [LoadFS] read it with the files that it
// includes, and take values of parameters. [Schema] is for editors. Package graph draws what has been loaded.
//
// The smallest topology with a node:
//
//	apiVersion: sandbox.vsphere/v1alpha1
//	kind: Topology
//	metadata: {name: tiny}
//	spec:
//	  vcenters:
//	    - name: vc
//	      datacenters:
//	        - name: dc
//	          region: home
//	          zone: attic
//	          hosts: [{name: esx-1}]
//	          vms: [{name: worker-1, role: worker}]
//
// The package holds plain data and knows neither the simulator that builds the inventory nor Kubernetes, whose naming
// rules it nevertheless applies where a name ends up there.
//
// Floor 0: of this module it imports only its own package stock.
package topology
