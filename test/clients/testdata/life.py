# What scripts do with VMs: log in, list, read, power, snapshot, clone, find.
import ssl, sys
from pyVim.connect import SmartConnect, Disconnect
from pyVim.task import WaitForTask
from pyVmomi import vim

address, port, user, password = sys.argv[1:5]
si = SmartConnect(host=address, port=int(port), user=user, pwd=password, sslContext=ssl._create_unverified_context())
content = si.RetrieveContent()
print("about", content.about.apiVersion)

def all_of(kind):
    view = content.viewManager.CreateContainerView(content.rootFolder, [kind], True)
    try:
        return sorted(view.view, key=lambda o: o.name)
    finally:
        view.Destroy()

for vm in all_of(vim.VirtualMachine):
    print("vm", vm.name, vm.runtime.powerState, vm.summary.runtime.faultToleranceState, vm.summary.config.numCpu, vm.config.hardware.memoryMB,
          vm.runtime.host.name, len(vm.config.hardware.device) > 0, vm.snapshot)
for kind in (vim.HostSystem, vim.Datastore, vim.ClusterComputeResource, vim.ResourcePool, vim.Network, vim.Datacenter, vim.Folder):
    for o in all_of(kind):
        print("found", type(o).__name__, o.name, getattr(o, "summary", None) is not None)
for host in all_of(vim.HostSystem):
    print("host", host.runtime.connectionState, host.hardware.cpuInfo.numCpuCores > 0, host.config.product.version, host.capability is not None)

vm = all_of(vim.VirtualMachine)[0]
task = vm.PowerOff()
print("name", task.info.name.info.wsdlName, task.info.descriptionId)
WaitForTask(task)
print("off", vm.runtime.powerState)
WaitForTask(vm.PowerOn())
WaitForTask(vm.CreateSnapshot_Task(name="before", description="", memory=False, quiesce=False))
print("snapshot", [s.name for s in vm.snapshot.rootSnapshotList])
WaitForTask(vm.RemoveAllSnapshots_Task())
task = vm.CloneVM_Task(folder=vm.parent, name="copy", spec=vim.vm.CloneSpec(location=vim.vm.RelocateSpec(), powerOn=False))
print("name", task.info.name.info.wsdlName)
WaitForTask(task)
copy = task.info.result
print("clone", copy.name)
print("by uuid", content.searchIndex.FindByUuid(None, copy.config.uuid, True).name)
WaitForTask(copy.Destroy_Task())
print("events", len(content.eventManager.QueryEvents(vim.event.EventFilterSpec())) > 0)

# The storage policies, at the path of pyvmomi's samples.
import re
from pyVmomi import pbm, SoapStubAdapter, VmomiSupport
VmomiSupport.GetRequestContext()["vcSessionCookie"] = re.search("vmware_soap_session=([^;]*)", si._stub.cookie).group(1)
stub = SoapStubAdapter(host=address, port=int(port), path="/pbm/sdk", version="pbm.version.version1", sslContext=ssl._create_unverified_context())
profiles = pbm.ServiceInstance("ServiceInstance", stub).RetrieveContent().profileManager
ids = profiles.PbmQueryProfile(resourceType=pbm.profile.ResourceType(resourceType="STORAGE"))
print("policies", sorted(p.name for p in profiles.PbmRetrieveContent(profileIds=ids))[:1])
Disconnect(si)
