package inventory_test

// full has one of everything that a topology can have.
const full = `
spec:
  tagCategories:
    - {name: storage, description: kinds of storage, cardinality: multiple, types: [Datastore]}
    - {name: owner}
  allowDuplicate: [name, uuid, hostname, address, mac]
  vcenters:
    - name: vc
      version: 7.0.3
      tags: [{category: owner, name: root}]
      users: [{name: cpi@vsphere.local}]
      permissions: [{user: cpi@vsphere.local, role: ReadOnly}]
      reactions: {ha: {enabled: yes, hostFailures: 1}}
      policies:
        - {name: gold, description: fast, tags: [{category: storage, name: fast}, {category: storage, name: safe}]}
      folders:
        - {path: americas/west, region: west, tags: [{category: owner, name: network}]}
      datacenters:
        - name: dc
          folder: americas/west
          zone: dc-zone
          permissions: [{user: cpi@vsphere.local, role: Admin, propagate: no}]
          folders:
            - {path: prod/web, tags: [{category: owner, name: web}]}
            - {path: empty}
          networks:
            - {name: VM Network, cidr: 10.0.0.0/24}
            - {name: storage-net}
          switches:
            - name: dvs
              clusters: [c1]
              hosts: [alone]
              tags: [{category: owner, name: network}]
              portGroups:
                - {name: pg-7, vlan: 7, cidr: 10.7.0.0/24}
                - {name: pg-0, tags: [{category: owner, name: network}]}
          datastores:
            - {name: shared, capacity: 2Ti, used: 512Gi, tags: [{category: storage, name: fast}]}
            - {name: nfs3, type: nfs, clusters: [c1, c2]}
            - {name: nfs4, type: nfs41, clusters: [c2]}
            - {name: vsan, type: vsan, clusters: [c1]}
            - {name: vvol, type: vvol, hosts: [alone]}
          clusters:
            - name: c1
              zone: z1
              hosts: [{name: "h1-{n}", replicas: 3, cpus: 8, memory: 32Gi}]
              pools:
                - name: prod
                  pools: [{name: web, vapps: [{name: shop, tags: [{category: owner, name: shop}]}]}]
                - {name: dev}
              vapps: [{name: top}]
            - {name: c2, hosts: [{name: h2}]}
          hosts:
            - {name: alone, zone: z3, pools: [{name: lab}]}
          vms:
            - name: web
              host: h1-1
              pool: prod/web
              folder: prod/web
              datastore: shared
              guestInfo: yes
              role: worker
              tags: [{category: owner, name: web}]
              extraConfig: [{key: guestinfo.role, value: web}]
              hardwareVersion: vmx-17
              uuid: 42000000-0000-0000-0000-000000000001
              nics:
                - {network: VM Network, mac: "00:50:56:01:02:04", addresses: [10.0.0.9, "2001:db8::9"]}
                - {network: pg-7, mac: "00:50:56:01:02:03", addresses: [10.7.0.9]}
              snapshots: [{name: first, description: before}, {name: second}]
            - {name: web, host: h1-2, folder: prod/web, datastore: shared, uuid: 42000000-0000-0000-0000-000000000001}
            - {name: shopper, host: h1-3, pool: prod/web/shop, datastore: vsan}
            - {name: lab, host: alone, pool: lab, datastore: vvol, tools: no}
            - {name: golden, host: h2, datastore: nfs3, template: yes}
            - {name: down, host: h2, datastore: nfs4, power: off}
`
