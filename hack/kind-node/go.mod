module github.com/vsphere-sandbox/vsphere-sandbox/hack/kind-node

go 1.26.0
