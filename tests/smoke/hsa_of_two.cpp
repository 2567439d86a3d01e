// A libhsa-runtime64.so that knows one CPU and two GPUs, one of them without a UUID: a test's stand-in for AMD's
// library, written against AMD's own headers, so that the numbers in runtime.py are held against those.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdlib>
#include <cstring>

static const hsa_device_type_t kTypes[] = {HSA_DEVICE_TYPE_CPU, HSA_DEVICE_TYPE_GPU, HSA_DEVICE_TYPE_GPU};
static const char* const kNames[] = {"AMD EPYC", "gfx942", "gfx1100"};
static const char* const kProducts[] = {"AMD EPYC 9654", "AMD Instinct MI300X", "AMD Radeon RX 7900 XTX"};
static const char* const kUuids[] = {"CPU-XX", "GPU-8d1457e2c20f59d2", "GPU-XX"};
static const uint32_t kBdfids[] = {0, 0x2600, 0x0309}, kDomains[] = {0, 0, 1};  // 26:00.0 and 03:01.1

extern "C" {
hsa_status_t hsa_init() { return std::getenv("HSA_OF_TWO_FAILS") ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS; }
hsa_status_t hsa_shut_down() { return HSA_STATUS_SUCCESS; }
hsa_status_t hsa_status_string(hsa_status_t, const char** text) { return *text = "HSA_STATUS_ERROR: in words", HSA_STATUS_SUCCESS; }
hsa_status_t hsa_iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void*), void* data) {
  for (uint64_t i = 0; i < 3; i++)
    if (hsa_status_t status = visit(hsa_agent_t{0x5555000000000000 + i}, data)) return status;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value) {
  const uint64_t i = agent.handle - 0x5555000000000000;
  if (i > 2) return HSA_STATUS_ERROR_INVALID_AGENT;
  switch (int(attribute)) {
    case HSA_AGENT_INFO_NAME: std::strncpy(static_cast<char*>(value), kNames[i], 64); break;
    case HSA_AGENT_INFO_DEVICE: *static_cast<hsa_device_type_t*>(value) = kTypes[i]; break;
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME: std::strncpy(static_cast<char*>(value), kProducts[i], 64); break;
    case HSA_AMD_AGENT_INFO_BDFID: *static_cast<uint32_t*>(value) = kBdfids[i]; break;
    case HSA_AMD_AGENT_INFO_DOMAIN: *static_cast<uint32_t*>(value) = kDomains[i]; break;
    case HSA_AMD_AGENT_INFO_UUID: std::strncpy(static_cast<char*>(value), kUuids[i], 21); break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}
}
