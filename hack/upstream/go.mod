module github.com/vsphere-sandbox/vsphere-sandbox/hack/upstream

go 1.26
