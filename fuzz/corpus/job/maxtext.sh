python3 -m maxtext.trainers.pre_train.train base.yml model_name=llama3-8b per_device_batch_size=0.5 ici_tensor_parallelism=8 ici_fsdp_parallelism=-1 remat_policy=minimal quantization=fp8
