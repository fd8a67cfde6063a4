module github.com/vsphere-sandbox/vsphere-sandbox/hack/kind-node/programs/coredns

go 1.26.8
