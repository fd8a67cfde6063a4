#!/bin/sh
# Makes of a running sandbox what a cluster of the in-tree vSphere provider is after its upgrade to a Kubernetes that has no such
# provider any more: an old vsphere.conf in use, which it writes to in-tree/; a disk with data, on no VM; the objects in before.yaml.
set -eu
here=$(dirname "$0")
kubectl() { vsphere-sandbox kubectl "$@"; }
govc() { vsphere-sandbox govc "$@"; }

# The old configuration, with the password in it, as they all had.
of() { kubectl -n kube-system get secret vsphere-cloud-secret -o go-template="{{range \$key, \$value := .data}}{{\$key}} {{base64decode \$value}}
{{end}}" | awk -v "what=.$1" '{ n = length($1) - length(what); if (substr($1, n + 1) == what) print substr($1, 1, n), $2 }'; }
umask 077
mkdir in-tree # fails if it exists: it may belong to the user
new=$(kubectl -n kube-system get configmap vsphere-cloud-config -o jsonpath='{.data.vsphere\.conf}')
of username >in-tree/login
read -r server user <in-tree/login
of password >in-tree/login
read -r server password <in-tree/login
rm in-tree/login
port=$(echo "$new" | awk '$1 == "port:" { print $2 }')
ca=$(echo "$new" | awk '$1 == "caFile:" { print $2 }')
sed -e "s|USER|$user|" -e "s|PASSWORD|$password|" -e "s|SERVER|$server|" -e "s|PORT|$port|" -e "s|CAFILE|$ca|" "$here/vsphere.conf" >in-tree/vsphere.conf
kubectl -n kube-system create configmap vsphere-cloud-config --from-file=in-tree/vsphere.conf --dry-run=client -o yaml | kubectl replace -f - >/dev/null
echo "the cloud controller manager reads an old vsphere.conf"

# The disk: made, attached and written to by the provider and the kubelet of before; detached when the node was drained.
govc datastore.mkdir kubevols
govc datastore.disk.create -size 1G kubevols/shop.vmdk >/dev/null
govc vm.disk.attach -vm worker-1 -link=false -disk kubevols/shop.vmdk
n=0
until dir=$(vsphere-sandbox volume path '[dc-ds] kubevols/shop.vmdk' 2>/dev/null); do
	n=$((n + 1))
	[ $n -lt 60 ] || { echo "worker-1 does not see its disk" >&2; exit 1; }
	sleep 0.5
done
echo 'order 4711: two chairs' >"$dir/orders"
govc device.remove -vm worker-1 -keep "$(govc device.ls -vm worker-1 | awk '/^disk-/ { last = $1 } END { print last }')"
echo "the disk [dc-ds] kubevols/shop.vmdk has data, and is on no VM"

kubectl apply -f "$here/before.yaml"
